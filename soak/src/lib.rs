//! Proof of Turnback's promises, as `docs/proof.md` lists them: each module of [`methods`] harms the engine in one way and counts
//! what became of it. The quick tier runs as tests (`soak/tests`), the long one as `cargo xtask soak`.
//!
//! A method returns an [`Outcome`]: figures beside the promise that they are for, breaches, and what could not run here and why. It
//! fails itself only when the harness is broken, never because of what the engine did.

mod budget;
mod churn;
mod cut;
mod disk;
pub mod machine;
pub mod methods;
mod mirror;
pub mod operation;
mod outcome;
pub mod parsers;
mod scene;
pub mod strace;
pub mod table;
pub mod tree;

pub use budget::Budget;
pub use churn::Churn;
pub use outcome::{Figure, Outcome, Promise};
pub use scene::{Scene, create_request, exact, open};
