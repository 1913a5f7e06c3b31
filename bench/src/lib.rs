//! What the benches and the side-by-side runner share: a generated tree, a plain walk to compare with, what an agent does to a tree,
//! a fingerprint that tells whether it came back, and the clocks.

pub mod churn;
pub mod clock;
pub mod criterion_support;
pub mod fingerprint;
pub mod git;
pub mod limits;
pub mod series;
pub mod stat_walk;
pub mod subject;
pub mod tree;
