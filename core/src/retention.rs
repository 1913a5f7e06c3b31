use std::collections::{BTreeMap, BTreeSet};

use crate::ids::{CheckpointId, SandboxId};
use crate::phase::Phase;
use crate::time::{Millis, MillisSpan};

/// How many automatic checkpoints of one workspace are kept by default (C16).
pub const AUTOMATIC_LAST: usize = 50;

/// How long an automatic checkpoint is kept by default: seven days (C16).
pub const AUTOMATIC_WITHIN: MillisSpan = MillisSpan::from_millis(7 * 24 * 60 * 60 * 1000);

/// How long automatic checkpoints stay (C16).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AutomaticRule {
    /// How many of each workspace.
    pub last: usize,
    /// How old they may become.
    pub within: MillisSpan,
}

impl Default for AutomaticRule {
    fn default() -> Self {
        Self { last: AUTOMATIC_LAST, within: AUTOMATIC_WITHIN }
    }
}

impl AutomaticRule {
    /// Whether an automatic checkpoint stays: one goes when there are `last` or more younger ones of its workspace (`rank`), or it is older
    /// than `within`. The newest checkpoint of a workspace always stays.
    pub fn keeps(self, is_newest: bool, rank: usize, age: MillisSpan) -> bool {
        is_newest || (rank < self.last && age <= self.within)
    }
}

/// What retention has to know of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its id. Ids say which checkpoint is the older one, whatever the clock said (input 58).
    pub id: CheckpointId,
    /// The sandbox or workspace that it belongs to.
    pub workspace: SandboxId,
    /// Why it was made.
    pub phase: Phase,
    /// When it was made, by the machine's clock. Only an age is read from it, never an order.
    pub created_at: Millis,
    /// It is pinned: retention never takes it.
    pub pinned: bool,
    /// Somebody gave it a label.
    pub labelled: bool,
    /// A rollback that is under way or was interrupted needs it: nothing takes it.
    pub needed: bool,
}

impl Kept {
    /// Whether nobody asked for this checkpoint: it was made by the guard or by a rollback, and has neither pin nor label.
    pub const fn is_automatic(&self) -> bool {
        matches!(self.phase, Phase::PreBatch | Phase::PreRollback) && !self.pinned && !self.labelled
    }
}

/// Why a checkpoint stays. The words are part of the public surface and never change meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeepReason {
    /// It is pinned.
    Pinned,
    /// A rollback that is under way or was interrupted needs it.
    Needed,
    /// It is among the last ones of its workspace.
    Last,
    /// It is young enough.
    Within,
    /// Somebody made it, or gave it a label; only rules that somebody gives take it.
    AskedFor,
    /// It is the newest of its workspace.
    Newest,
    /// No rule takes it: the store is small enough.
    Fits,
    /// It is damaged, so that nobody knows what it is; only a deletion by its id takes it.
    Damaged,
    /// Nobody can read whether it is pinned: it counts as pinned.
    MarksDamaged,
}

impl KeepReason {
    /// Every reason.
    pub const ALL: [Self; 9] = [
        Self::Pinned,
        Self::Needed,
        Self::Last,
        Self::Within,
        Self::AskedFor,
        Self::Newest,
        Self::Fits,
        Self::Damaged,
        Self::MarksDamaged,
    ];

    /// The reason's word, for instance `keep_last`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pinned => "pinned",
            Self::Needed => "needed_by_rollback",
            Self::Last => "keep_last",
            Self::Within => "keep_within",
            Self::AskedFor => "asked_for",
            Self::Newest => "newest",
            Self::Fits => "fits",
            Self::Damaged => "damaged",
            Self::MarksDamaged => "marks_damaged",
        }
    }
}

/// By which rules checkpoints go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionRules {
    /// The default for automatic checkpoints (C16): one goes when it is not among the last [`AUTOMATIC_LAST`] automatic ones of its
    /// workspace, or is older than [`AUTOMATIC_WITHIN`]. The newest checkpoint of a workspace always stays, and so does
    /// everything that somebody asked for.
    Automatic,
    /// What somebody asks for (C9). What `last` or `within` covers stays, the rest goes; then, while the store holds more than
    /// `max_bytes`, the oldest of what is left goes as well, whatever the other two say. Checkpoints of every phase count. With none
    /// of the three nothing goes.
    Asked {
        /// The last ones of each workspace stay.
        last: Option<usize>,
        /// What is not older than this stays.
        within: Option<MillisSpan>,
        /// The store may hold this many bytes.
        max_bytes: Option<u64>,
    },
    /// The store is full: the oldest automatic checkpoints of any workspace go until it fits.
    Room {
        /// The store may hold this many bytes.
        max_bytes: u64,
    },
}

impl RetentionRules {
    const fn max_bytes(&self) -> Option<u64> {
        match self {
            Self::Automatic => None,
            Self::Asked { max_bytes, .. } => *max_bytes,
            Self::Room { max_bytes } => Some(*max_bytes),
        }
    }
}

/// Which checkpoints go, which could, and which stay.
///
/// Bytes come last, because what a deletion frees depends on what else goes: [`RetentionPlan::order`] says in which order
/// checkpoints would go, the host says what each of them frees in that order, and [`RetentionPlan::settle`] decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetentionPlan {
    order: Vec<CheckpointId>,
    /// How many of `order` go whatever they free.
    certain: usize,
    max_bytes: Option<u64>,
    kept: BTreeMap<CheckpointId, KeepReason>,
}

/// The outcome of retention.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retained {
    /// What goes, in the order in which it goes.
    pub deleted: Vec<CheckpointId>,
    /// What stays and why, oldest first.
    pub kept: Vec<(CheckpointId, KeepReason)>,
}

/// Applies rules to checkpoints. `protected` ones stay as if a rollback needed them.
pub fn plan_retention(
    all: &[Kept],
    rules: RetentionRules,
    protected: &BTreeSet<CheckpointId>,
    now: Millis,
) -> RetentionPlan {
    let mut sorted: Vec<&Kept> = all.iter().collect();
    sorted.sort_unstable_by_key(|c| c.id);
    let mut certain = Vec::new();
    let mut possible = Vec::new();
    let mut kept = BTreeMap::new();
    // Newest first, so that the rank within a workspace is known.
    let mut seen: BTreeMap<&SandboxId, usize> = BTreeMap::new();
    let mut automatic: BTreeMap<&SandboxId, usize> = BTreeMap::new();
    for one in sorted.iter().rev() {
        let rank = next(&mut seen, &one.workspace);
        let automatic_rank = if one.is_automatic() { next(&mut automatic, &one.workspace) } else { 0 };
        let age = now.since(one.created_at);
        let fate = if one.pinned {
            Fate::Stays(KeepReason::Pinned)
        } else if one.needed || protected.contains(&one.id) {
            Fate::Stays(KeepReason::Needed)
        } else {
            match rules {
                RetentionRules::Automatic if !one.is_automatic() => Fate::Stays(KeepReason::AskedFor),
                RetentionRules::Automatic if rank == 0 => Fate::Stays(KeepReason::Newest),
                RetentionRules::Automatic if AutomaticRule::default().keeps(false, automatic_rank, age) => {
                    Fate::Stays(KeepReason::Last)
                }
                RetentionRules::Automatic => Fate::Goes,
                RetentionRules::Asked { last, within, max_bytes } => {
                    let reason = match (last, within) {
                        (Some(last), _) if rank < last => Some(KeepReason::Last),
                        (_, Some(within)) if age <= within => Some(KeepReason::Within),
                        (None, None) => Some(KeepReason::Fits),
                        _ => None,
                    };
                    match (reason, max_bytes) {
                        (None, _) => Fate::Goes,
                        (Some(reason), None) => Fate::Stays(reason),
                        (Some(reason), Some(_)) => Fate::MayGo(reason),
                    }
                }
                RetentionRules::Room { .. } if one.is_automatic() => Fate::MayGo(KeepReason::Fits),
                RetentionRules::Room { .. } => Fate::Stays(KeepReason::AskedFor),
            }
        };
        match fate {
            Fate::Goes => certain.push(one.id),
            Fate::MayGo(reason) => {
                possible.push(one.id);
                kept.insert(one.id, reason);
            }
            Fate::Stays(reason) => {
                kept.insert(one.id, reason);
            }
        }
    }
    certain.reverse();
    possible.reverse();
    let count = certain.len();
    certain.extend(possible);
    RetentionPlan { order: certain, certain: count, max_bytes: rules.max_bytes(), kept }
}

enum Fate {
    Goes,
    MayGo(KeepReason),
    Stays(KeepReason),
}

/// The number of times that a key was seen before.
fn next<'a>(counts: &mut BTreeMap<&'a SandboxId, usize>, key: &'a SandboxId) -> usize {
    let count = counts.entry(key).or_default();
    let before = *count;
    *count += 1;
    before
}

impl RetentionPlan {
    /// The order in which checkpoints would go: first those that go in any case, then, each oldest first, those that go only as long
    /// as the store holds too much.
    pub fn order(&self) -> &[CheckpointId] {
        &self.order
    }

    /// How many go in any case.
    pub const fn certain(&self) -> usize {
        self.certain
    }

    /// Decides. `held` are the bytes that the store holds, `frees` the bytes that each checkpoint of [`RetentionPlan::order`] frees
    /// when those before it have gone; a missing one frees nothing.
    pub fn settle(&self, held: u64, frees: &[u64]) -> Retained {
        let mut count = self.certain;
        if let Some(max_bytes) = self.max_bytes {
            let freed = |n: usize| frees.iter().take(n).fold(0u64, |sum, f| sum.saturating_add(*f));
            while count < self.order.len() && held.saturating_sub(freed(count)) > max_bytes {
                count += 1;
            }
        }
        let deleted: Vec<_> = self.order.iter().take(count).copied().collect();
        let gone: BTreeSet<_> = deleted.iter().collect();
        let kept = self.kept.iter().filter(|(id, _)| !gone.contains(id)).map(|(id, why)| (*id, *why));
        Retained { kept: kept.collect(), deleted }
    }
}
