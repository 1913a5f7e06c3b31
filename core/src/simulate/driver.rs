use super::luck::Luck;
use crate::time::MillisSpan;

/// How a driver's attempt ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverEnd {
    /// There is a checkpoint.
    Succeeded,
    /// There is none.
    Failed,
    /// It never answers.
    Stalled,
}

/// What a real driver did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// From the call to the answer; without meaning for one that stalled.
    pub took: MillisSpan,
    /// How it ended.
    pub end: DriverEnd,
}

/// A share of all attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

impl Rate {
    /// How many parts the whole has: every number from 0 to 1 that a JavaScript random function gives is a whole number of them.
    const WHOLE: f64 = (1_u64 << 53) as f64;

    /// A share from 0 to 1; others give `None`.
    pub fn new(share: f64) -> Option<Self> {
        // Exact but for what is below 2^-53: the factor is a power of two, and the product is a whole number below 2^53 + 1.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        (0.0..=1.0).contains(&share).then_some(Self((share * Self::WHOLE) as u64))
    }
}

/// How long attempts take. Where a bound is below the one before it, it counts as that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Latency {
    /// All the same.
    Fixed(MillisSpan),
    /// Every whole number of milliseconds from the first to the second with equal chances.
    Uniform(MillisSpan, MillisSpan),
    /// Least, 50th, 90th and 99th percentile, most: even chances between each two.
    Quantiles([MillisSpan; 5]),
    /// One of these, each with equal chances. None at all: no time.
    Samples(Vec<MillisSpan>),
}

/// The percentiles of [`Latency::Quantiles`] that a draw from 0 to 99 lies between.
const PERCENTILES: [u64; 3] = [50, 90, 99];

impl Latency {
    fn draw(&self, luck: &mut Luck) -> MillisSpan {
        match self {
            Self::Fixed(span) => *span,
            Self::Uniform(least, most) => between(*least, *most, luck),
            Self::Quantiles(bounds) => {
                let percent = luck.up_to(99);
                let segment = PERCENTILES.iter().filter(|&&bound| percent >= bound).count();
                match bounds.get(segment..segment + 2) {
                    Some(&[least, most]) => between(least, most, luck),
                    _ => MillisSpan::ZERO,
                }
            }
            Self::Samples(samples) => {
                let most = samples.len().saturating_sub(1) as u64;
                let at = usize::try_from(luck.up_to(most)).unwrap_or_default();
                samples.get(at).copied().unwrap_or_default()
            }
        }
    }
}

fn between(least: MillisSpan, most: MillisSpan, luck: &mut Luck) -> MillisSpan {
    let range = most.as_u64().saturating_sub(least.as_u64());
    MillisSpan::from_millis(least.as_u64().saturating_add(luck.up_to(range)))
}

/// A driver that behaves as it is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverModel {
    /// Its luck: the same seed, the same luck.
    pub seed: u32,
    /// How long it takes, also to fail.
    pub latency: Latency,
    /// How many attempts fail.
    pub failures: Rate,
    /// How many attempts are never answered. Of what is over the whole together with [`failures`](Self::failures) nothing happens.
    pub stalls: Rate,
    /// Whether an attempt that is led by a batch with a [`Recorded`] one goes as that did.
    pub recorded: bool,
}

/// What the driver does: how an attempt ends, and after what time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) succeeded: bool,
    pub(super) after: MillisSpan,
}

impl DriverModel {
    /// The answer to the attempt that a batch leads; `None`: there is never one.
    pub(super) fn answer(&self, batch: u32, recorded: Option<Recorded>) -> Option<Answer> {
        let Recorded { took, end } =
            recorded.filter(|_| self.recorded).unwrap_or_else(|| self.draw(Luck::of(self.seed, batch)));
        (end != DriverEnd::Stalled).then_some(Answer { succeeded: end == DriverEnd::Succeeded, after: took })
    }

    fn draw(&self, mut luck: Luck) -> Recorded {
        let share = luck.next() >> 11;
        let end = if share < self.failures.0 {
            DriverEnd::Failed
        } else if share < self.failures.0 + self.stalls.0 {
            DriverEnd::Stalled
        } else {
            DriverEnd::Succeeded
        };
        Recorded { took: self.latency.draw(&mut luck), end }
    }
}
