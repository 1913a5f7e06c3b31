//! The only module that writes to a workspace.
//!
//! Every operation works on a held directory descriptor and one checked name; directories are found from the root's descriptor
//! without following a link, without leaving the root and without crossing a mount (inputs 3, 4, 8, 22, 26, 27, 75; F44).

mod attributes;
mod dir;
mod root;
mod settle;

pub(super) use dir::retry;
pub(crate) use dir::{Dir, Overwrite};
pub use root::{Resolver, Root};
pub(crate) use settle::{Refused, settle_directory, settle_link, settle_new};
pub(super) use settle::{mtime_of, settle_existing};
