//! Timelines, drivers and policies as proptest makes them: short times, so that much happens at once.

use proptest::prelude::*;
use turnback_core::{
    AutomaticRule, DriverEnd, DriverModel, Latency, Millis, MillisSpan, ModelPolicy, PolicyKind, Rate,
    Recorded, Timeline, TimelineBatch,
};

/// The policies' time limit, in ms.
pub(crate) const LIMIT: u64 = 100;

pub(crate) fn span(ms: u64) -> MillisSpan {
    MillisSpan::from_millis(ms)
}

fn recorded() -> impl Strategy<Value = Recorded> {
    let end = prop_oneof![
        6 => Just(DriverEnd::Succeeded),
        2 => Just(DriverEnd::Failed),
        1 => Just(DriverEnd::Stalled),
    ];
    // Some are over just at the limit, and some after it.
    (end, prop_oneof![0..60_u64, Just(LIMIT), 80..250_u64])
        .prop_map(|(end, took)| Recorded { took: span(took), end })
}

/// Batches of up to `sandboxes` sandboxes and `turns` turns in each.
pub(crate) fn timeline(sandboxes: u32, turns: u32, most: usize) -> impl Strategy<Value = Timeline> {
    let batch = (
        0..sandboxes,
        prop_oneof![9 => (0..turns).prop_map(Some), 1 => Just(None)],
        prop_oneof![0..120_u64, (0..40_u64).prop_map(|tens| tens * 10)],
        prop_oneof![Just(0), 1..150_u64, 1..20_u64],
        prop::bool::weighted(0.2),
        prop::option::of(recorded()),
    );
    prop::collection::vec(batch, 0..most).prop_map(|batches| {
        let batches = batches.into_iter().map(|(sandbox, turn, start, duration, read_only, recorded)| {
            let (start, duration) = (Millis::since_epoch(start), span(duration));
            TimelineBatch { sandbox, turn, start, duration, read_only, recorded }
        });
        Timeline::new(batches.collect()).unwrap()
    })
}

/// One batch after the other: each begins when the one before it is over, or later.
pub(crate) fn sequence(most: usize) -> impl Strategy<Value = Timeline> {
    let batch = (0..4_u32, 0..50_u64, 0..100_u64);
    prop::collection::vec(batch, 1..most).prop_map(|batches| {
        let mut now = 0;
        let batches = batches.into_iter().map(|(turn, pause, duration)| {
            let start = now + pause;
            now = start + duration;
            TimelineBatch {
                sandbox: 0,
                turn: Some(turn),
                start: Millis::since_epoch(start),
                duration: span(duration),
                read_only: false,
                recorded: None,
            }
        });
        Timeline::new(batches.collect()).unwrap()
    })
}

pub(crate) fn driver() -> impl Strategy<Value = DriverModel> {
    let latency = prop_oneof![
        (0..150_u64).prop_map(|ms| Latency::Fixed(span(ms))),
        (0..150_u64, 0..150_u64).prop_map(|(one, other)| Latency::Uniform(span(one), span(other))),
        [0..20_u64, 10..50, 40..90, 80..120, 90..300].prop_map(|bounds| Latency::Quantiles(bounds.map(span))),
        prop::collection::vec(0..150_u64, 0..5)
            .prop_map(|samples| Latency::Samples(samples.into_iter().map(span).collect())),
    ];
    (any::<u32>(), latency, 0.0..=0.6, 0.0..=0.4, any::<bool>()).prop_map(
        |(seed, latency, failures, stalls, recorded)| DriverModel {
            seed,
            latency,
            failures: Rate::new(failures).unwrap(),
            stalls: Rate::new(stalls).unwrap(),
            recorded,
        },
    )
}

/// A driver that takes its time and never fails.
pub(crate) fn reliable(ms: u64) -> DriverModel {
    DriverModel {
        seed: 0,
        latency: Latency::Fixed(span(ms)),
        failures: Rate::default(),
        stalls: Rate::default(),
        recorded: false,
    }
}

pub(crate) fn policy_of(kind: PolicyKind) -> ModelPolicy {
    ModelPolicy {
        kind,
        unless_read_only: false,
        timeout: span(LIMIT),
        block: false,
        retention: AutomaticRule::default(),
    }
}

fn kind() -> impl Strategy<Value = PolicyKind> {
    prop_oneof![
        3 => Just(PolicyKind::PerTurn),
        1 => Just(PolicyKind::EveryBatch),
        1 => (0..300_u64).prop_map(|ms| PolicyKind::Interval(span(ms))),
        1 => Just(PolicyKind::LastTurnOnly),
        1 => Just(PolicyKind::SharedAcrossTurns),
        1 => Just(PolicyKind::Never),
    ]
}

pub(crate) fn policy() -> impl Strategy<Value = ModelPolicy> {
    (kind(), any::<bool>(), any::<bool>(), 0..4_usize, 0..500_u64).prop_map(
        |(kind, unless_read_only, block, last, within)| ModelPolicy {
            unless_read_only,
            block,
            retention: AutomaticRule { last, within: span(within) },
            ..policy_of(kind)
        },
    )
}
