//! Trees: the one that is checkpointed, what is done to it, and a picture that judges what came back.

mod build;
mod edits;
mod picture;

pub use build::{build, edit, edited_differs, empty, noise};
pub use edits::{Edit, apply as apply_edit};
pub use picture::{Item, Picture, What, difference, difference_but};
