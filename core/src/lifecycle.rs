use std::fmt;
use std::str::FromStr;

use crate::excerpt::excerpt;

/// Where a sandbox stands in its life (S2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub enum SandboxStatus {
    /// Asked for, not there yet.
    Pending,
    /// Made, not used yet.
    Created,
    /// In use.
    Active,
    /// Its changes went to the resource; work may go on.
    Committed,
    /// Put back to its baseline; work may go on.
    RolledBack,
    /// Its making or its work failed.
    Errored,
    /// Gone. The only state that nothing follows.
    CleanedUp,
}

use SandboxStatus::{Active, CleanedUp, Committed, Created, Errored, Pending, RolledBack};

/// Every legal transition (S2 and S3): each status with the statuses that may follow it.
///
/// This is the whole rule; the functions of [`SandboxStatus`] only look things up here.
pub const TRANSITIONS: [(SandboxStatus, &[SandboxStatus]); 7] = [
    (Pending, &[Created, Errored]),
    (Created, &[Active, CleanedUp]),
    (Active, &[Committed, RolledBack, Errored, CleanedUp]),
    (Committed, &[Active, RolledBack, CleanedUp]),
    (RolledBack, &[Active, CleanedUp]),
    (Errored, &[RolledBack, CleanedUp]),
    (CleanedUp, &[]),
];

impl SandboxStatus {
    /// Every status, in the order of a sandbox's life.
    pub const ALL: [Self; 7] = [Pending, Created, Active, Committed, RolledBack, Errored, CleanedUp];

    /// The status's name in records, on the command line and in TypeScript, for instance `ROLLED_BACK`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Pending => "PENDING",
            Created => "CREATED",
            Active => "ACTIVE",
            Committed => "COMMITTED",
            RolledBack => "ROLLED_BACK",
            Errored => "ERRORED",
            CleanedUp => "CLEANED_UP",
        }
    }

    /// The statuses that may follow this one; none after [`SandboxStatus::CleanedUp`].
    pub fn allowed_next(self) -> &'static [Self] {
        TRANSITIONS.iter().find(|(from, _)| *from == self).map_or(&[], |(_, next)| next)
    }

    /// Whether `next` may follow this status.
    pub fn may_become(self, next: Self) -> bool {
        self.allowed_next().contains(&next)
    }

    /// `next`, if it may follow this status.
    ///
    /// # Errors
    /// [`IllegalTransition`], which names both statuses and what is allowed instead.
    pub fn transition(self, next: Self) -> Result<Self, IllegalTransition> {
        if self.may_become(next) { Ok(next) } else { Err(IllegalTransition { from: self, to: next }) }
    }
}

impl fmt::Display for SandboxStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<SandboxStatus> for String {
    fn from(status: SandboxStatus) -> Self {
        status.as_str().to_owned()
    }
}

impl FromStr for SandboxStatus {
    type Err = UnknownStatus;

    fn from_str(name: &str) -> Result<Self, UnknownStatus> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == name)
            .ok_or_else(|| UnknownStatus { given: excerpt(name) })
    }
}

impl TryFrom<String> for SandboxStatus {
    type Error = UnknownStatus;

    fn try_from(name: String) -> Result<Self, UnknownStatus> {
        name.parse()
    }
}

/// A step that a sandbox's life does not have (S3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sandbox that is {from} cannot become {to}: {}", advice(*from))]
pub struct IllegalTransition {
    /// Where the sandbox stands.
    pub from: SandboxStatus,
    /// Where it was to go.
    pub to: SandboxStatus,
}

impl IllegalTransition {
    /// The stable code of this error.
    pub const fn code(&self) -> &'static str {
        "ILLEGAL_TRANSITION"
    }

    /// What may follow [`IllegalTransition::from`] instead.
    pub fn allowed(&self) -> &'static [SandboxStatus] {
        self.from.allowed_next()
    }
}

fn advice(from: SandboxStatus) -> String {
    match from.allowed_next() {
        [] => "nothing follows it, create a new sandbox".to_owned(),
        allowed => format!("allowed are {}", names(allowed)),
    }
}

fn names(statuses: &[SandboxStatus]) -> String {
    let mut names = String::new();
    for status in statuses {
        if !names.is_empty() {
            names.push_str(", ");
        }
        names.push_str(status.as_str());
    }
    names
}

/// A name that is no sandbox status. Its message lists the valid ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given} is not a sandbox status: use one of {}", names(&SandboxStatus::ALL))]
pub struct UnknownStatus {
    /// The start of what was given, quoted and escaped.
    pub given: String,
}

impl UnknownStatus {
    /// The stable code of this error.
    pub const fn code(&self) -> &'static str {
        "INVALID_ARGUMENT"
    }
}
