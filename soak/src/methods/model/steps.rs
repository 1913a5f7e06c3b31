//! What a random sequence is made of.

use proptest::prelude::*;
use turnback_engine::OnConflict;

use crate::tree::Edit;

/// One step. A number chooses among the checkpoints that there are.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Edit(Edit),
    Create,
    Rollback(usize),
    /// Of one name and what lies beneath it.
    RollbackPart(usize, usize),
    DryRun(usize),
    /// From one checkpoint to another, and whether it only says what it would do.
    Revert(usize, usize, OnConflict, bool),
    Undo,
    Delete(usize),
    /// All but the last ones; by the default rules without a number.
    Prune(Option<usize>),
    Pin(usize, bool),
    Label(usize, Option<u8>),
    Reopen,
    LoseRoot,
}

fn edits() -> impl Strategy<Value = Edit> {
    let path = || 0..Edit::NAMES;
    prop_oneof![
        4 => (path(), any::<u8>(), prop_oneof![Just(0u16), 1..300u16, Just(9000)])
            .prop_map(|(p, b, n)| Edit::Write(p, b, n)),
        1 => path().prop_map(Edit::Append),
        2 => (path(), any::<u8>()).prop_map(|(p, b)| Edit::Overwrite(p, b)),
        1 => path().prop_map(Edit::Sparse),
        2 => path().prop_map(Edit::Directory),
        3 => path().prop_map(Edit::Remove),
        1 => (path(), path()).prop_map(|(a, b)| Edit::Link(a, b)),
        2 => (path(), path()).prop_map(|(a, b)| Edit::HardLink(a, b)),
        2 => (path(), path()).prop_map(|(a, b)| Edit::Rename(a, b)),
        1 => path().prop_map(Edit::Fifo),
        1 => (path(), 0..0o1000u16).prop_map(|(p, m)| Edit::Mode(p, m | 0o700)),
        1 => (path(), any::<i32>()).prop_map(|(p, t)| Edit::Time(p, t)),
        1 => (path(), any::<u8>()).prop_map(|(p, v)| Edit::Attribute(p, v)),
    ]
}

fn on_conflict() -> impl Strategy<Value = OnConflict> {
    prop_oneof![1 => Just(OnConflict::Fail), 2 => Just(OnConflict::Ours), 2 => Just(OnConflict::Theirs)]
}

pub(super) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let any_one = any::<usize>;
    let step = prop_oneof![
        26 => edits().prop_map(Step::Edit),
        5 => Just(Step::Create),
        3 => any_one().prop_map(Step::Rollback),
        3 => (any_one(), 0..Edit::NAMES).prop_map(|(i, p)| Step::RollbackPart(i, p)),
        1 => any_one().prop_map(Step::DryRun),
        5 => (any_one(), any_one(), on_conflict(), prop::bool::weighted(0.15))
            .prop_map(|(from, to, on, dry)| Step::Revert(from, to, on, dry)),
        2 => Just(Step::Undo),
        2 => any_one().prop_map(Step::Delete),
        2 => prop::option::weighted(0.8, 0..5usize).prop_map(Step::Prune),
        2 => (any_one(), prop::bool::weighted(0.7)).prop_map(|(i, on)| Step::Pin(i, on)),
        1 => (any_one(), any::<Option<u8>>()).prop_map(|(i, text)| Step::Label(i, text)),
        1 => Just(Step::Reopen),
        1 => Just(Step::LoseRoot),
    ];
    proptest::collection::vec(step, 4..45)
}
