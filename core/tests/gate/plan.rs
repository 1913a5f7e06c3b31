//! What a world is made of: who does what when, and how the driver behaves. Proptest makes these and shrinks them.

use proptest::prelude::*;

/// The time limit of the worlds' gates, in ms.
pub(crate) const LIMIT: u64 = 10_000;
pub(crate) const DAY: u64 = 24 * 60 * 60 * 1000;

/// Something that the hosts do, `after` ms after the thing before it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) after: u64,
    pub(crate) act: Act,
}

#[derive(Clone, Debug)]
pub(crate) enum Act {
    Batch(BatchPlan),
    /// The turn's checkpoint is deleted by somebody else, if it has one that has an id.
    Delete {
        sandbox: usize,
        turn: usize,
    },
    /// The sandbox is restored.
    Restore {
        sandbox: usize,
    },
    /// The driver is another one, or nobody knows whether this sandbox was restored.
    Uncover {
        sandbox: Option<usize>,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct BatchPlan {
    pub(crate) sandbox: usize,
    pub(crate) turn: usize,
    pub(crate) kind: Kind,
    /// Its caller gives up this long after its arrival, if it still waits.
    pub(crate) cancel_after: Option<u64>,
    pub(crate) fate: Fate,
    /// Whether its release says which batch it is for, if it has a number of its own.
    pub(crate) named: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ordinary,
    FlagOff,
    Paused,
    NoDriver,
    NoTurn,
    ReadOnly,
}

/// What becomes of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It runs as soon as its verdict is there.
    Runs,
    /// It is denied this long after its verdict, and has not run.
    DeniedAfterVerdict(u64),
    /// It is denied this long after its arrival, whether it waits or not, and never runs.
    DeniedAfterArrival(u64),
}

/// What the driver calls the checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// It has no ids.
    None,
    /// As no other.
    Own,
    /// As all others that are called so: by their content, say, or by their turn. Too long to be remembered, or not.
    Shared { long: bool },
}

/// How the driver answers an attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer {
    pub(crate) latency: u64,
    pub(crate) success: bool,
    /// Of a checkpoint; without one, that there is none because the store is paused (C17).
    pub(crate) partial: bool,
    pub(crate) name: Name,
    /// Whether it gives up when told to.
    pub(crate) heeds_abort: bool,
    pub(crate) never: bool,
    /// Whether it answers a second time.
    pub(crate) twice: bool,
}

impl Answer {
    pub(crate) const fn paused(&self) -> bool {
        !self.success && self.partial
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// For attempt n, the answer n modulo their number.
    pub(crate) answers: Vec<Answer>,
    /// How late the host wakes for timeout n, modulo their number.
    pub(crate) oversleep: Vec<u64>,
}

fn span() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => Just(0),
        4 => 1..50_u64,
        3 => 50..LIMIT,
        1 => Just(LIMIT - 1),
        1 => Just(LIMIT),
        1 => Just(LIMIT + 1),
        1 => LIMIT..3 * LIMIT,
    ]
}

fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![
        30 => span(),
        1 => Just(DAY - 1),
        1 => Just(DAY),
        1 => Just(DAY + 1),
        1 => Just(DAY - 20_000),
    ]
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        20 => Just(Kind::Ordinary),
        1 => Just(Kind::FlagOff),
        1 => Just(Kind::Paused),
        1 => Just(Kind::NoDriver),
        1 => Just(Kind::NoTurn),
        1 => Just(Kind::ReadOnly),
    ]
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        10 => Just(Fate::Runs),
        1 => Just(Fate::DeniedAfterVerdict(0)),
        1 => span().prop_map(Fate::DeniedAfterVerdict),
        1 => span().prop_map(Fate::DeniedAfterArrival),
    ]
}

fn batch(sandboxes: usize, turns: usize) -> impl Strategy<Value = BatchPlan> {
    (0..sandboxes, 0..turns, kind(), prop::option::weighted(0.1, span()), fate(), any::<bool>()).prop_map(
        |(sandbox, turn, kind, cancel_after, fate, named)| BatchPlan {
            sandbox,
            turn,
            kind,
            cancel_after,
            fate,
            named,
        },
    )
}

fn act(sandboxes: usize, turns: usize) -> impl Strategy<Value = Act> {
    prop_oneof![
        24 => batch(sandboxes, turns).prop_map(Act::Batch),
        1 => prop::option::of(0..sandboxes).prop_map(|sandbox| Act::Uncover { sandbox }),
        2 => (0..sandboxes, 0..turns).prop_map(|(sandbox, turn)| Act::Delete { sandbox, turn }),
        2 => (0..sandboxes).prop_map(|sandbox| Act::Restore { sandbox }),
    ]
}

fn answer() -> impl Strategy<Value = Answer> {
    (
        span(),
        prop::bool::weighted(0.6),
        any::<bool>(),
        prop_oneof![
            1 => Just(Name::None),
            3 => Just(Name::Own),
            2 => any::<bool>().prop_map(|long| Name::Shared { long }),
        ],
        any::<bool>(),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.1),
    )
        .prop_map(|(latency, success, partial, name, heeds_abort, never, twice)| Answer {
            latency,
            success,
            partial,
            name,
            heeds_abort,
            never,
            twice,
        })
}

/// Worlds of so many sandboxes, with so many turns in each.
pub(crate) fn plan(sandboxes: usize, turns: usize) -> impl Strategy<Value = Plan> {
    let step = (gap(), act(sandboxes, turns)).prop_map(|(after, act)| Step { after, act });
    (
        prop::collection::vec(step, 1..40),
        prop::collection::vec(answer(), 1..8),
        prop::collection::vec(prop_oneof![8 => Just(0), 1 => 1..3 * LIMIT], 1..6),
    )
        .prop_map(|(steps, answers, oversleep)| Plan { steps, answers, oversleep })
}
