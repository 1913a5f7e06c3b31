//! The names that users give and get: strategies and mechanisms.

use std::fmt;
use std::str::FromStr;

use crate::error::{Code, Error};
use crate::model::escape;

/// How a directory is isolated (S1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum StrategyName {
    /// Not at all: writes go straight to the resource.
    None,
    /// An isolated copy.
    #[default]
    CopyOnWrite,
    /// A worktree of a git repository.
    GitWorktree,
}

impl StrategyName {
    /// Every strategy.
    pub const ALL: [Self; 3] = [Self::None, Self::CopyOnWrite, Self::GitWorktree];

    /// The name as users see it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::CopyOnWrite => "copy_on_write",
            Self::GitWorktree => "git_worktree",
        }
    }
}

/// How a `copy_on_write` sandbox is to be made (S5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum MechanismChoice {
    /// The best that can be had: a snapshot before sharing blocks, and that before copying them.
    #[default]
    Auto,
    /// Files share their blocks with the resource's until one of them is written.
    Reflink,
    /// A snapshot of a btrfs subvolume.
    Btrfs,
    /// Bytes are copied.
    Copy,
}

impl MechanismChoice {
    /// Every choice.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Reflink, Self::Btrfs, Self::Copy];

    /// The name as users see it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Reflink => "reflink",
            Self::Btrfs => "btrfs",
            Self::Copy => "copy",
        }
    }
}

/// How a `copy_on_write` sandbox was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// It is a snapshot of a btrfs subvolume.
    Btrfs,
    /// Files share their blocks with the resource's until one of them is written.
    Reflink,
    /// Bytes were copied.
    Copy,
}

impl Mechanism {
    /// Every mechanism.
    pub const ALL: [Self; 3] = [Self::Btrfs, Self::Reflink, Self::Copy];

    /// The name as users see it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Btrfs => "btrfs",
            Self::Reflink => "reflink",
            Self::Copy => "copy",
        }
    }
}

fn unknown(what: &str, given: &str, valid: &[&str]) -> Error {
    let shown: String = given.chars().take(64).collect();
    Error::new(
        Code::InvalidArgument,
        format!("`{}` is no {what}", escape(shown.as_bytes())),
        format!("use one of {}", valid.join(", ")),
    )
}

macro_rules! named {
    ($type:ty, $what:literal) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl FromStr for $type {
            type Err = Error;

            /// Reads a name; the error lists the valid ones.
            fn from_str(text: &str) -> Result<Self, Error> {
                let found = Self::ALL.into_iter().find(|name| name.as_str() == text);
                found.ok_or_else(|| unknown($what, text, &Self::ALL.map(Self::as_str)))
            }
        }
    };
}

named!(StrategyName, "sandbox strategy");
named!(MechanismChoice, "mechanism");
named!(Mechanism, "mechanism that a sandbox has");
