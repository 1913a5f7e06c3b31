//! Repeated measurements of one thing.

use std::time::Duration;

use crate::clock::Cost;

/// What repeated runs of one thing took.
#[derive(Debug, Clone, Default)]
pub struct Series {
    costs: Vec<Cost>,
}

impl Series {
    /// Adds a run.
    pub fn push(&mut self, cost: Cost) {
        self.costs.push(cost);
    }

    /// How many runs there were.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.costs.len()
    }

    /// Whether there was none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.costs.is_empty()
    }

    /// The median wall time; of an even number of runs the lower middle one. `None` without runs.
    #[must_use]
    pub fn median(&self) -> Option<Duration> {
        median(self.costs.iter().map(|c| c.wall))
    }

    /// The median processor time.
    #[must_use]
    pub fn median_cpu(&self) -> Option<Duration> {
        median(self.costs.iter().map(|c| c.cpu))
    }

    /// The quickest and the slowest run.
    #[must_use]
    pub fn range(&self) -> Option<(Duration, Duration)> {
        let walls = || self.costs.iter().map(|c| c.wall);
        Some((walls().min()?, walls().max()?))
    }

    /// The ratio of the wall times' medians: how many times what `base` took.
    #[must_use]
    pub fn ratio(&self, base: &Self) -> Option<f64> {
        quotient(self.median()?, base.median()?)
    }

    /// The ratio of the processor times' medians.
    #[must_use]
    pub fn cpu_ratio(&self, base: &Self) -> Option<f64> {
        quotient(self.median_cpu()?, base.median_cpu()?)
    }
}

fn median(values: impl Iterator<Item = Duration>) -> Option<Duration> {
    let mut values: Vec<Duration> = values.collect();
    values.sort_unstable();
    values.get(values.len().checked_sub(1)? / 2).copied()
}

fn quotient(value: Duration, base: Duration) -> Option<f64> {
    (!base.is_zero()).then(|| value.as_secs_f64() / base.as_secs_f64())
}
