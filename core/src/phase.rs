use std::fmt;
use std::str::FromStr;

use crate::excerpt::excerpt;

/// When, in the course of a plan, a checkpoint was made (C2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub enum Phase {
    /// Before a plan runs.
    PreExecute,
    /// After a plan ran.
    PostExecute,
    /// Before a sandbox's changes go to the resource.
    PreApply,
    /// Before a batch (one tool call); made by the guard.
    PreBatch,
    /// Before a rollback overwrites the present state; made by the rollback.
    PreRollback,
    /// Because somebody asked for it.
    Manual,
}

impl Phase {
    /// Every phase, in the order in which the documents list them.
    pub const ALL: [Self; 6] = [
        Self::PreExecute,
        Self::PostExecute,
        Self::PreApply,
        Self::PreBatch,
        Self::PreRollback,
        Self::Manual,
    ];

    /// The phase's name in records, on the command line and in TypeScript, for instance `pre_execute`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PreExecute => "pre_execute",
            Self::PostExecute => "post_execute",
            Self::PreApply => "pre_apply",
            Self::PreBatch => "pre_batch",
            Self::PreRollback => "pre_rollback",
            Self::Manual => "manual",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Phase> for String {
    fn from(phase: Phase) -> Self {
        phase.as_str().to_owned()
    }
}

impl FromStr for Phase {
    type Err = UnknownPhase;

    fn from_str(name: &str) -> Result<Self, UnknownPhase> {
        Self::ALL
            .into_iter()
            .find(|phase| phase.as_str() == name)
            .ok_or_else(|| UnknownPhase { given: excerpt(name) })
    }
}

impl TryFrom<String> for Phase {
    type Error = UnknownPhase;

    fn try_from(name: String) -> Result<Self, UnknownPhase> {
        name.parse()
    }
}

/// A name that is no phase. Its message lists the valid ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given} is not a phase: use one of {}", Phase::ALL.map(Phase::as_str).join(", "))]
pub struct UnknownPhase {
    /// The start of what was given, quoted and escaped.
    pub given: String,
}

impl UnknownPhase {
    /// The stable code of this error.
    pub const fn code(&self) -> &'static str {
        "INVALID_ARGUMENT"
    }
}
