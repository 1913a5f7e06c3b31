use std::fmt;
use std::str::FromStr;

use crate::excerpt::excerpt;

/// How a sandbox keeps an agent's writes away from the resource (S1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "String", into = "String"))]
pub enum Strategy {
    /// No isolation: writes go straight to the resource.
    None,
    /// An isolated copy, made by copy-on-write where the file system can.
    CopyOnWrite,
    /// A git worktree of a git repository.
    GitWorktree,
}

impl Strategy {
    /// Every strategy, in the order in which the documents list them.
    pub const ALL: [Self; 3] = [Self::None, Self::CopyOnWrite, Self::GitWorktree];

    /// The strategy's name in records, on the command line and in TypeScript, for instance `copy_on_write`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::CopyOnWrite => "copy_on_write",
            Self::GitWorktree => "git_worktree",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl From<Strategy> for String {
    fn from(strategy: Strategy) -> Self {
        strategy.as_str().to_owned()
    }
}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    fn from_str(name: &str) -> Result<Self, UnknownStrategy> {
        Self::ALL
            .into_iter()
            .find(|strategy| strategy.as_str() == name)
            .ok_or_else(|| UnknownStrategy { given: excerpt(name) })
    }
}

impl TryFrom<String> for Strategy {
    type Error = UnknownStrategy;

    fn try_from(name: String) -> Result<Self, UnknownStrategy> {
        name.parse()
    }
}

/// A name that is no strategy. Its message lists the valid ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{given} is not a strategy: use one of {}", Strategy::ALL.map(Strategy::as_str).join(", "))]
pub struct UnknownStrategy {
    /// The start of what was given, quoted and escaped.
    pub given: String,
}

impl UnknownStrategy {
    /// The stable code of this error.
    pub const fn code(&self) -> &'static str {
        "INVALID_ARGUMENT"
    }
}
