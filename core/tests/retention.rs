//! Which checkpoints stay (C9, C16, F48, input 58).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is how a test fails")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use turnback_core::{
    AUTOMATIC_LAST, AUTOMATIC_WITHIN, CheckpointId, KeepReason, Kept, Millis, MillisSpan, Phase, Retained,
    RetentionRules, plan_retention,
};

const NOW: Millis = Millis::since_epoch(1_800_000_000_000);

fn id(n: u64) -> CheckpointId {
    CheckpointId::from_bytes(u128::from(n).to_be_bytes())
}

/// A checkpoint of workspace `w`, made `age` milliseconds ago.
fn one(n: u64, w: u8, phase: Phase, age: u64) -> Kept {
    Kept {
        id: id(n),
        workspace: format!("ws-{w}").parse().unwrap(),
        phase,
        created_at: NOW.saturating_sub(MillisSpan::from_millis(age)),
        pinned: false,
        labelled: false,
        needed: false,
    }
}

fn apply(all: &[Kept], rules: RetentionRules, held: u64, frees: &BTreeMap<CheckpointId, u64>) -> Retained {
    let plan = plan_retention(all, rules, &BTreeSet::new(), NOW);
    let frees: Vec<_> = plan.order().iter().map(|id| frees.get(id).copied().unwrap_or(0)).collect();
    plan.settle(held, &frees)
}

fn asked(last: Option<usize>, within: Option<u64>, max_bytes: Option<u64>) -> RetentionRules {
    RetentionRules::Asked { last, within: within.map(MillisSpan::from_millis), max_bytes }
}

fn reason(retained: &Retained, n: u64) -> Option<KeepReason> {
    retained.kept.iter().find(|k| k.0 == id(n)).map(|k| k.1)
}

#[test]
fn words_are_stable() {
    let words = KeepReason::ALL.map(KeepReason::as_str);
    assert_eq!(
        words,
        [
            "pinned",
            "needed_by_rollback",
            "keep_last",
            "keep_within",
            "asked_for",
            "newest",
            "fits",
            "damaged",
            "marks_damaged"
        ]
    );
}

#[test]
fn automatic_ones_go_beyond_the_last_fifty() {
    let all: Vec<_> = (0..60).map(|n| one(n, (n % 2) as u8, Phase::PreBatch, 1)).collect();
    assert_eq!(apply(&all, RetentionRules::Automatic, 0, &BTreeMap::new()).deleted, []);
    let all: Vec<_> = (0..60).map(|n| one(n, 0, Phase::PreBatch, 1)).collect();
    let retained = apply(&all, RetentionRules::Automatic, 0, &BTreeMap::new());
    assert_eq!(retained.deleted, (0..10).map(id).collect::<Vec<_>>());
    assert_eq!(retained.kept.len(), AUTOMATIC_LAST);
}

#[test]
fn automatic_ones_go_after_seven_days() {
    let week = AUTOMATIC_WITHIN.as_u64();
    let all = [
        one(1, 0, Phase::PreBatch, week + 1),
        one(2, 0, Phase::PreRollback, week + 1),
        one(3, 0, Phase::Manual, week * 100),
        one(4, 0, Phase::PreExecute, week * 100),
        one(5, 0, Phase::PreBatch, week),
        one(6, 1, Phase::PreBatch, week * 100),
        one(7, 0, Phase::Manual, 0),
    ];
    let retained = apply(&all, RetentionRules::Automatic, 0, &BTreeMap::new());
    assert_eq!(retained.deleted, [id(1), id(2)]);
    assert_eq!(reason(&retained, 3), Some(KeepReason::AskedFor));
    assert_eq!(reason(&retained, 4), Some(KeepReason::AskedFor));
    assert_eq!(reason(&retained, 5), Some(KeepReason::Last));
    assert_eq!(reason(&retained, 6), Some(KeepReason::Newest), "the last resort of its workspace");
}

#[test]
fn labels_and_pins_make_a_checkpoint_asked_for() {
    let mut all: Vec<_> = (0..60).map(|n| one(n, 0, Phase::PreBatch, 1)).collect();
    all[0].pinned = true;
    all[1].labelled = true;
    let retained = apply(&all, RetentionRules::Automatic, 0, &BTreeMap::new());
    assert_eq!(retained.deleted, (2..10).map(id).collect::<Vec<_>>());
    assert_eq!(reason(&retained, 0), Some(KeepReason::Pinned));
    assert_eq!(reason(&retained, 1), Some(KeepReason::AskedFor));
}

#[test]
fn what_somebody_asks_for() {
    let all = [
        one(1, 0, Phase::Manual, 300),
        one(2, 1, Phase::Manual, 200),
        one(3, 0, Phase::PreBatch, 100),
        one(4, 0, Phase::Manual, 0),
    ];
    let none = BTreeMap::new();
    assert_eq!(apply(&all, asked(Some(1), None, None), 0, &none).deleted, [id(1), id(3)]);
    assert_eq!(apply(&all, asked(None, Some(150), None), 0, &none).deleted, [id(1), id(2)]);
    // Either of them is enough to stay.
    let both = apply(&all, asked(Some(1), Some(150), None), 0, &none);
    assert_eq!(both.deleted, [id(1)]);
    assert_eq!(reason(&both, 2), Some(KeepReason::Last));
    assert_eq!(reason(&both, 3), Some(KeepReason::Within));
    assert_eq!(apply(&all, asked(Some(0), None, None), 0, &none).deleted.len(), 4);
    assert_eq!(apply(&all, asked(None, None, None), u64::MAX, &none).deleted, []);
}

#[test]
fn bytes_take_the_oldest_first() {
    let all: Vec<_> = (0..5).map(|n| one(n, 0, Phase::Manual, 1)).collect();
    let frees: BTreeMap<_, _> = (0..5).map(|n| (id(n), 10)).collect();
    assert_eq!(apply(&all, asked(None, None, Some(25)), 50, &frees).deleted, [id(0), id(1), id(2)]);
    assert_eq!(apply(&all, asked(None, None, Some(50)), 50, &frees).deleted, []);
    // Those that go by another rule come first, and count.
    let retained = apply(&all, asked(Some(4), None, Some(30)), 50, &frees);
    assert_eq!(retained.deleted, [id(0), id(1)]);
    assert_eq!(apply(&all, asked(Some(4), None, Some(40)), 50, &frees).deleted, [id(0)]);
}

#[test]
fn room_is_made_by_automatic_ones_of_any_workspace() {
    let all = [
        one(1, 0, Phase::Manual, 9),
        one(2, 1, Phase::PreBatch, 9),
        one(3, 0, Phase::PreBatch, 9),
        one(4, 0, Phase::PreRollback, 9),
    ];
    let frees: BTreeMap<_, _> = (1..5).map(|n| (id(n), 10)).collect();
    let rules = RetentionRules::Room { max_bytes: 25 };
    assert_eq!(apply(&all, rules, 40, &frees).deleted, [id(2), id(3)]);
    let plan = plan_retention(&all, rules, &BTreeSet::from([id(2)]), NOW);
    assert_eq!(plan.order(), [id(3), id(4)]);
    let all = apply(&all, RetentionRules::Room { max_bytes: 0 }, 40, &frees);
    assert_eq!(all.kept, [(id(1), KeepReason::AskedFor)]);
}

#[test]
fn a_clock_that_was_set_back_takes_nothing() {
    // Input 58: made in what is now the future; the order is that of the ids.
    let mut all: Vec<_> = (0..3).map(|n| one(n, 0, Phase::PreBatch, 0)).collect();
    all[2].created_at = Millis::since_epoch(u64::MAX);
    all[0].created_at = Millis::since_epoch(u64::MAX);
    assert_eq!(apply(&all, RetentionRules::Automatic, 0, &BTreeMap::new()).deleted, []);
    assert_eq!(apply(&all, asked(Some(1), None, None), 0, &BTreeMap::new()).deleted, [id(0), id(1)]);
}

fn kept() -> impl Strategy<Value = Kept> {
    let phase = prop::sample::select(Phase::ALL.to_vec());
    let age = prop_oneof![0..1000u64, AUTOMATIC_WITHIN.as_u64() - 500..AUTOMATIC_WITHIN.as_u64() + 500];
    (any::<u64>(), 0..3u8, phase, age, prop::bool::weighted(0.1), prop::bool::weighted(0.1), any::<u8>())
        .prop_map(|(n, w, phase, age, pinned, labelled, needed)| Kept {
            pinned,
            labelled,
            needed: needed == 0,
            ..one(n, w, phase, age)
        })
}

fn rules() -> impl Strategy<Value = RetentionRules> {
    prop_oneof![
        Just(RetentionRules::Automatic),
        (0..3000u64).prop_map(|max_bytes| RetentionRules::Room { max_bytes }),
        (prop::option::of(0..40usize), prop::option::of(0..1200u64), prop::option::of(0..3000u64))
            .prop_map(|(last, within, max_bytes)| asked(last, within, max_bytes)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn each_one_either_goes_or_stays(
        all in prop::collection::btree_map(any::<u64>(), kept(), 0..150),
        rules in rules(),
        free in 0..50u64,
    ) {
        let all: Vec<_> = all.into_iter().map(|(n, k)| Kept { id: id(n), ..k }).collect();
        let frees: BTreeMap<_, _> = all.iter().map(|k| (k.id, free)).collect();
        let held = free * all.len() as u64;
        let done = apply(&all, rules, held, &frees);
        let mut seen: Vec<_> = done.deleted.iter().copied().chain(done.kept.iter().map(|k| k.0)).collect();
        seen.sort_unstable();
        prop_assert_eq!(seen, all.iter().map(|k| k.id).collect::<Vec<_>>());
        prop_assert!(done.kept.is_sorted());

        let gone: BTreeSet<_> = done.deleted.iter().collect();
        let went = all.iter().filter(|k| gone.contains(&k.id));
        prop_assert!(went.clone().all(|k| !k.pinned && !k.needed));
        let by_hand = matches!(rules, RetentionRules::Asked { .. });
        prop_assert!(by_hand || went.clone().all(Kept::is_automatic), "nobody asked for what goes by itself");

        // What stays under a rule that goes by order has nothing older among what went by it.
        if let RetentionRules::Asked { last: Some(last), within: None, max_bytes: None } = rules {
            for w in 0..3u8 {
                let ids: Vec<_> = all.iter().filter(|k| k.workspace == one(0, w, Phase::Manual, 0).workspace).collect();
                let stays = ids.iter().rev().take(last);
                prop_assert!(stays.into_iter().all(|k| !gone.contains(&k.id)));
                let others = ids.iter().rev().skip(last);
                prop_assert!(others.into_iter().all(|k| k.pinned || k.needed || gone.contains(&k.id)));
            }
        }
        // No more goes for the bytes than has to.
        if let RetentionRules::Room { max_bytes } = rules {
            let left = held - free * done.deleted.len() as u64;
            let nothing_left = all.iter().filter(|k| !gone.contains(&k.id)).all(|k| !k.is_automatic() || k.needed);
            prop_assert!(left <= max_bytes || nothing_left);
            prop_assert!(done.deleted.is_empty() || left + free > max_bytes);
            prop_assert!(done.deleted.is_sorted());
        }
        // Applied again, with the same rules and what is left, it takes nothing more.
        let left: Vec<_> = all.iter().filter(|k| !gone.contains(&k.id)).cloned().collect();
        let again = apply(&left, rules, held - free * done.deleted.len() as u64, &frees);
        prop_assert_eq!(again.deleted, []);
    }
}
