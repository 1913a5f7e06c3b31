use std::fmt;

/// An instant: milliseconds since the Unix epoch (1970-01-01T00:00:00Z), as the host's clock gave them.
///
/// `core` has no clock of its own: an instant always comes in from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct Millis(u64);

impl Millis {
    /// The Unix epoch itself.
    pub const EPOCH: Self = Self(0);

    /// The instant `ms` milliseconds after the Unix epoch.
    pub const fn since_epoch(ms: u64) -> Self {
        Self(ms)
    }

    /// Milliseconds since the Unix epoch.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this instant is; zero when it is not after it, because a host's clock can be set back.
    pub const fn since(self, earlier: Self) -> MillisSpan {
        MillisSpan(self.0.saturating_sub(earlier.0))
    }

    /// The instant `span` later, or the last one that can be expressed.
    pub const fn saturating_add(self, span: MillisSpan) -> Self {
        Self(self.0.saturating_add(span.0))
    }

    /// The instant `span` earlier, or the epoch.
    pub const fn saturating_sub(self, span: MillisSpan) -> Self {
        Self(self.0.saturating_sub(span.0))
    }
}

impl fmt::Display for Millis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms since the epoch", self.0)
    }
}

/// A length of time in milliseconds. Not an instant: [`Millis`] is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent))]
pub struct MillisSpan(u64);

impl MillisSpan {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms)
    }

    /// The span in milliseconds.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// Both spans together, or the longest that can be expressed.
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for MillisSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ms", self.0)
    }
}
