use std::fmt;

use crate::excerpt::excerpt;

/// The environment variable that switches the guard's checkpoints on or off (G3).
pub const FLAG_VARIABLE: &str = "SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH";

/// The environment variable that decides when [`FLAG_VARIABLE`] does not (G3).
pub const ENVIRONMENT_VARIABLE: &str = "NODE_ENV";

/// Whether the guard makes checkpoints, why, and what was odd about the setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagDecision {
    /// What decided. Whether checkpoints are on follows from it.
    pub reason: FlagReason,
    /// Set when the flag holds a value that means nothing. To be logged once.
    pub warning: Option<FlagWarning>,
}

impl FlagDecision {
    /// Whether checkpoints are on.
    pub const fn enabled(&self) -> bool {
        self.reason.enabled()
    }
}

/// What decided about the flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlagReason {
    /// The flag is exactly `true`.
    ExplicitTrue,
    /// The flag is exactly `false`.
    ExplicitFalse,
    /// The flag does not decide and `NODE_ENV` is not `production`: on.
    NotProduction,
    /// The flag does not decide and `NODE_ENV` is exactly `production`: off.
    Production,
}

impl FlagReason {
    /// The reason's name in TypeScript and in logs, for instance `not_production`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ExplicitTrue => "explicit_true",
            Self::ExplicitFalse => "explicit_false",
            Self::NotProduction => "not_production",
            Self::Production => "production",
        }
    }

    /// Whether this reason switches checkpoints on.
    pub const fn enabled(self) -> bool {
        matches!(self, Self::ExplicitTrue | Self::NotProduction)
    }
}

impl fmt::Display for FlagReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The flag holds a value that is neither `true` nor `false`, so it counts as unset. Its text names the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlagWarning {
    /// The start of the value, quoted and escaped.
    pub value: String,
    /// Whether checkpoints are on all the same.
    pub enabled: bool,
}

impl fmt::Display for FlagWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, enabled } = self;
        let state = if *enabled { "on" } else { "off" };
        write!(
            f,
            "{FLAG_VARIABLE} is {value}, which is neither \"true\" nor \"false\" and counts as unset: checkpoints are {state}; set it to true or false"
        )
    }
}

/// Decides whether the guard makes checkpoints (G3), from the values of the two environment variables.
///
/// `flag` exactly `true` or `false` wins. Unset (`None`) or empty it is on, save where `node_env` is exactly
/// `production`. Any other value counts as unset and gives a warning.
pub fn resolve_flag(flag: Option<&str>, node_env: Option<&str>) -> FlagDecision {
    let unset =
        if node_env == Some("production") { FlagReason::Production } else { FlagReason::NotProduction };
    let (reason, warning) = match flag {
        Some("true") => (FlagReason::ExplicitTrue, None),
        Some("false") => (FlagReason::ExplicitFalse, None),
        None | Some("") => (unset, None),
        Some(value) => (unset, Some(FlagWarning { value: excerpt(value), enabled: unset.enabled() })),
    };
    FlagDecision { reason, warning }
}
