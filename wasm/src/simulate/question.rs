use turnback_core::{
    AutomaticRule, DriverEnd, DriverModel, Latency, Millis, MillisSpan, ModelPolicy, PolicyKind, Rate,
    Recorded, Timeline, TimelineBatch,
};

use crate::gate::MAX_SAFE;

/// What is to be replayed.
pub(super) struct Question {
    pub(super) timeline: Timeline,
    pub(super) driver: DriverModel,
    pub(super) policy: ModelPolicy,
}

/// How many numbers a batch has: sandbox, turn (-1: not known), start, duration, whether it only reads, how a recorded attempt
/// ended (0: there is none, 1: it succeeded, 2: failed, 3: stalled) and what time it took.
const BATCH: usize = 7;

/// The driver (seed, failures, stalls, whether it goes by what was recorded, the kind of its latency, how many numbers that has, these),
/// the policy (kind, interval, whether it leaves out what only reads, time-out, whether it blocks, the last that are kept, how old
/// they may become), then the batches.
///
/// `None`: these are no such numbers.
pub(super) fn read(numbers: &[f64]) -> Option<Question> {
    let mut rest = Numbers { rest: numbers, malformed: false };
    let driver = DriverModel {
        seed: rest.small(),
        failures: rest.rate(),
        stalls: rest.rate(),
        recorded: rest.flag(),
        latency: rest.latency(),
    };
    let policy = ModelPolicy {
        kind: rest.kind(),
        unless_read_only: rest.flag(),
        timeout: rest.span(),
        block: rest.flag(),
        retention: AutomaticRule { last: rest.small() as usize, within: rest.span() },
    };
    let mut batches = Vec::with_capacity(rest.rest.len() / BATCH);
    while !rest.rest.is_empty() {
        batches.push(rest.batch());
    }
    let timeline = Timeline::new(batches).ok()?;
    (!rest.malformed).then_some(Question { timeline, driver, policy })
}

/// What is left to read. What cannot be read counts as 0 and is remembered: one look in the end takes less code than one at each number.
struct Numbers<'a> {
    rest: &'a [f64],
    malformed: bool,
}

impl Numbers<'_> {
    #[inline(never)]
    fn next(&mut self) -> f64 {
        match self.rest.split_first() {
            Some((&next, rest)) => {
                self.rest = rest;
                next
            }
            None => self.nothing(0.0),
        }
    }

    fn nothing<T>(&mut self, instead: T) -> T {
        self.malformed = true;
        instead
    }

    #[inline(never)]
    fn whole(&mut self) -> u64 {
        let next = self.next();
        if next.trunc() != next || !(0.0..=MAX_SAFE).contains(&next) {
            return self.nothing(0);
        }
        // Checked: exact, not negative, below 2^53.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let whole = next as u64;
        whole
    }

    fn small(&mut self) -> u32 {
        let next = self.whole();
        u32::try_from(next).unwrap_or_else(|_| self.nothing(0))
    }

    fn flag(&mut self) -> bool {
        self.whole() != 0
    }

    fn span(&mut self) -> MillisSpan {
        MillisSpan::from_millis(self.whole())
    }

    fn rate(&mut self) -> Rate {
        let next = self.next();
        Rate::new(next).unwrap_or_else(|| self.nothing(Rate::default()))
    }

    fn latency(&mut self) -> Latency {
        let (kind, count) = (self.small(), self.small() as usize);
        if count > self.rest.len() {
            return self.nothing(Latency::Fixed(MillisSpan::ZERO));
        }
        let mut spans = Vec::with_capacity(count);
        for _ in 0..count {
            spans.push(self.span());
        }
        match (kind, &*spans) {
            (0, &[span]) => Latency::Fixed(span),
            (1, &[least, most]) => Latency::Uniform(least, most),
            (2, &[least, p50, p90, p99, most]) => Latency::Quantiles([least, p50, p90, p99, most]),
            (3, &[_, ..]) => Latency::Samples(spans),
            _ => self.nothing(Latency::Fixed(MillisSpan::ZERO)),
        }
    }

    fn kind(&mut self) -> PolicyKind {
        let (kind, interval) = (self.small(), self.span());
        match kind {
            0 => PolicyKind::PerTurn,
            1 => PolicyKind::EveryBatch,
            2 => PolicyKind::Interval(interval),
            3 => PolicyKind::LastTurnOnly,
            4 => PolicyKind::SharedAcrossTurns,
            5 => PolicyKind::Never,
            _ => self.nothing(PolicyKind::Never),
        }
    }

    fn batch(&mut self) -> TimelineBatch {
        let sandbox = self.small();
        let turn = if self.rest.first() == Some(&-1.0) {
            self.next();
            None
        } else {
            Some(self.small())
        };
        let (start, duration, read_only) = (Millis::since_epoch(self.whole()), self.span(), self.flag());
        let (end, took) = (self.small(), self.span());
        let recorded = match end {
            0 => None,
            1 => Some(DriverEnd::Succeeded),
            2 => Some(DriverEnd::Failed),
            3 => Some(DriverEnd::Stalled),
            _ => self.nothing(None),
        };
        let recorded = recorded.map(|end| Recorded { took, end });
        TimelineBatch { sandbox, turn, start, duration, read_only, recorded }
    }
}
