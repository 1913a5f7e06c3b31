//! What a method found.

use std::fmt;

/// A promise by its number in the list of promises (P1 to P15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Promise(pub u8);

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P{}", self.0)
    }
}

/// One line of the table: what was run for a promise, and what was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// The promise that it speaks of.
    pub promise: Promise,
    /// What was run.
    pub what: String,
    /// What was counted.
    pub figure: String,
    /// How many breaches of the promise were seen in it.
    pub breaches: usize,
}

/// What a method found: figures, breaches, and what could not be run.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The lines of the table.
    pub figures: Vec<Figure>,
    /// Each breach, with what is needed to see it again.
    pub breaches: Vec<(Promise, String)>,
    /// Why something could not be run on this machine.
    pub skipped: Vec<String>,
    /// Breaches that stand in a figure already.
    told: usize,
}

impl Outcome {
    /// An outcome that only says why nothing was run.
    #[must_use]
    pub fn skip(why: impl Into<String>) -> Self {
        Self { skipped: vec![why.into()], ..Self::default() }
    }

    /// Notes a breach.
    pub fn breach(&mut self, promise: u8, what: impl Into<String>) {
        self.breaches.push((Promise(promise), what.into()));
    }

    /// Notes a breach unless a condition holds; tells whether it does.
    pub fn check(&mut self, holds: bool, promise: u8, what: impl FnOnce() -> String) -> bool {
        if !holds {
            self.breach(promise, what());
        }
        holds
    }

    /// Notes a figure; the breaches of this promise that were noted since the last figure are counted with it.
    pub fn figure(&mut self, promise: u8, what: impl Into<String>, figure: impl Into<String>) {
        let promise = Promise(promise);
        let breaches = self.breaches[self.told..].iter().filter(|(p, _)| *p == promise).count();
        self.figures.push(Figure { promise, what: what.into(), figure: figure.into(), breaches });
    }

    /// Whether a promise was breached since the last group of figures.
    #[must_use]
    pub fn has_new(&self, promise: u8) -> bool {
        self.breaches[self.told..].iter().any(|(p, _)| p.0 == promise)
    }

    /// Ends a group of figures that speak of the same rounds.
    pub const fn end_group(&mut self) {
        self.told = self.breaches.len();
    }

    /// Adds what another part of the method found.
    pub fn add(&mut self, other: Self) {
        self.figures.extend(other.figures);
        self.breaches.extend(other.breaches);
        self.skipped.extend(other.skipped);
        self.told = self.breaches.len();
    }

    /// Whether enough has gone wrong that further rounds would only repeat it.
    #[must_use]
    pub const fn is_hopeless(&self) -> bool {
        self.breaches.len() >= 20
    }
}
