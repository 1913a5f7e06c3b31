//! P3: what holds of every replay, judged by the documentation's own words (`simulate/naive.rs`) and by one gate for all
//! sandboxes (`simulate/one_gate.rs`).
#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

mod simulate;

use std::collections::BTreeSet;

use proptest::prelude::*;
use simulate::naive::{Rollback, Told, ranked};
use simulate::one_gate::{Answer, OneGate};
use simulate::plan::{LIMIT, driver, policy, policy_of, reliable, sequence, span, timeline};
use turnback_core::{
    AttemptEnd, DriverEnd, DriverModel, Millis, MillisSpan, ModelPolicy, Outcome, PolicyKind, Recorded,
    Timeline, Why, simulate,
};

proptest! {
    #![proptest_config(config())]

    /// P1: nothing but the arguments decides.
    #[test]
    fn the_same_arguments_give_the_same_replay(timeline in timeline(3, 4, 40), driver in driver(), policy in policy()) {
        prop_assert_eq!(simulate(&timeline, &driver, &policy), simulate(&timeline, &driver, &policy));
    }

    #[test]
    fn every_batch_is_answered_once_and_counted_once(timeline in timeline(3, 4, 40), driver in driver(), policy in policy()) {
        let replay = simulate(&timeline, &driver, &policy);
        let told = Told::of(&timeline, &replay);
        let places: Vec<_> = told.records.iter().map(|record| record.batch as usize).collect();
        prop_assert_eq!(places, (0..timeline.batches().len()).collect::<Vec<_>>());
        prop_assert!(replay.batches.is_sorted_by_key(|record| (record.at, record.batch)));
        prop_assert!(replay.attempts.is_sorted_by_key(|attempt| attempt.at));

        let summary = &replay.summary;
        let came_to = |outcome| replay.batches.iter().filter(|record| record.why.outcome() == outcome).count();
        let ended = |end| replay.attempts.iter().filter(|attempt| attempt.end == end).count();
        prop_assert_eq!(summary.checkpoints, ended(AttemptEnd::Succeeded));
        // Each checkpoint was created for one batch.
        prop_assert_eq!(summary.checkpoints, came_to(Outcome::Created));
        prop_assert_eq!(summary.failures, ended(AttemptEnd::Failed));
        prop_assert_eq!(summary.timeouts, ended(AttemptEnd::TimedOut));
        prop_assert_eq!(summary.joined, came_to(Outcome::Joined));
        prop_assert_eq!(summary.already_covered, came_to(Outcome::AlreadyCovered));
        let skipped: usize = summary.skipped.iter().map(|(_, count)| count).sum();
        prop_assert_eq!(skipped, came_to(Outcome::Skipped));
        let reasons: BTreeSet<_> = summary.skipped.iter().map(|(why, _)| why.as_str()).collect();
        prop_assert_eq!(reasons.len(), summary.skipped.len());
        prop_assert_eq!(summary.refused, replay.batches.iter().filter(|record| !record.ran).count());
        prop_assert!(policy.block || summary.refused == 0);
        prop_assert_eq!(summary.kept, replay.attempts.iter().filter(|attempt| attempt.kept).count());
        let destructive = |place: &usize| !timeline.batches()[*place].read_only && told.records[*place].ran;
        let ran: Vec<_> = (0..told.records.len()).filter(destructive).collect();
        let bare = ran.iter().filter(|&&place| !told.records[place].protected).count();
        prop_assert_eq!(summary.unprotected, bare);
        let nothing = ran.iter().filter(|&&place| told.records[place].returns_to.is_none()).count();
        prop_assert_eq!(summary.lost.nothing, nothing);
    }

    #[test]
    fn the_summary_ranks_what_the_records_say(timeline in timeline(2, 3, 40), driver in driver(), policy in policy()) {
        let replay = simulate(&timeline, &driver, &policy);
        let (waiting, lost) = (replay.summary.waiting, replay.summary.lost);
        let waits: Vec<_> = replay.batches.iter().map(|record| record.waited.as_u64()).collect();
        prop_assert_eq!(waiting.total.as_u64(), waits.iter().sum::<u64>());
        prop_assert_eq!(waiting.max.as_u64(), waits.iter().copied().max().unwrap_or_default());
        prop_assert_eq!(waiting.median.as_u64(), ranked(waits.clone(), 50));
        prop_assert_eq!(waiting.p99.as_u64(), ranked(waits, 99));
        let back: Vec<_> = replay.batches.iter().filter(|record| record.returns_to.is_some()).collect();
        let costs: Vec<_> = back.iter().map(|record| record.lost.as_u64()).collect();
        prop_assert_eq!(lost.max.as_u64(), costs.iter().copied().max().unwrap_or_default());
        prop_assert_eq!(lost.p99.as_u64(), ranked(costs.clone(), 99));
        prop_assert_eq!(lost.batches, back.iter().map(|record| record.lost_batches).max().unwrap_or_default());
        prop_assert_eq!(lost.across_turns, back.iter().filter(|record| record.lost_turns > 0).count());
        let mean = if costs.is_empty() { 0.0 } else { costs.iter().sum::<u64>() as f64 / costs.len() as f64 };
        prop_assert_eq!(lost.mean_ms.to_bits(), mean.to_bits());
    }

    #[test]
    fn what_a_rollback_costs_is_what_one_look_at_each_batch_finds(timeline in timeline(2, 4, 40), driver in driver(), policy in policy()) {
        let replay = simulate(&timeline, &driver, &policy);
        let told = Told::of(&timeline, &replay);
        for (place, record) in told.records.iter().enumerate() {
            let cost = Rollback {
                returns_to: record.returns_to,
                lost: record.lost.as_u64(),
                batches: record.lost_batches,
                turns: record.lost_turns,
            };
            prop_assert_eq!(cost, told.rollback(place), "batch {}", place);
        }
    }

    #[test]
    fn batches_ask_when_the_ones_before_them_let_them(timeline in timeline(2, 4, 40), driver in driver(), policy in policy()) {
        let replay = simulate(&timeline, &driver, &policy);
        let told = Told::of(&timeline, &replay);
        for (place, record) in told.records.iter().enumerate() {
            prop_assert_eq!(record.at, told.asks_at(place), "batch {}", place);
            prop_assert!(record.waited <= span(LIMIT));
        }
    }

    #[test]
    fn checkpoints_are_kept_by_the_rule(timeline in timeline(2, 4, 40), driver in driver(), policy in policy()) {
        let replay = simulate(&timeline, &driver, &policy);
        let told = Told::of(&timeline, &replay);
        for (number, attempt) in (1..).zip(&replay.attempts) {
            prop_assert_eq!(attempt.kept, told.is_kept(number, attempt, &policy), "attempt {}", number);
        }
    }

    #[test]
    fn attempts_on_a_sandbox_come_one_after_the_other_and_are_bounded(timeline in timeline(3, 4, 40), driver in driver(), policy in policy()) {
        let replay = simulate(&timeline, &driver, &policy);
        let told = Told::of(&timeline, &replay);
        for sandbox in 0..3 {
            let mut free = Millis::EPOCH;
            for (number, attempt) in told.attempts(sandbox) {
                prop_assert!(attempt.at >= free, "attempt {}", number);
                prop_assert!(attempt.ended.since(attempt.at) <= span(LIMIT), "attempt {}", number);
                let in_time = attempt.answered == Some(attempt.ended);
                prop_assert!(attempt.end == AttemptEnd::TimedOut || in_time, "attempt {}", number);
                free = attempt.ended;
            }
        }
    }

    /// Protected by the product's own policy means: by a checkpoint of one's own turn that was complete in time.
    #[test]
    fn protection_is_a_checkpoint_of_the_turn(timeline in timeline(2, 4, 40), driver in driver(), read_only in any::<bool>()) {
        let policy = ModelPolicy { unless_read_only: read_only, ..policy_of(PolicyKind::PerTurn) };
        let replay = simulate(&timeline, &driver, &policy);
        for record in replay.batches.iter().filter(|record| record.protected) {
            let attempt = &replay.attempts[record.attempt.unwrap() as usize - 1];
            let (batch, leader) =
                (&timeline.batches()[record.batch as usize], &timeline.batches()[attempt.leader as usize]);
            prop_assert_eq!(attempt.end, AttemptEnd::Succeeded);
            prop_assert_eq!((batch.sandbox, batch.turn), (leader.sandbox, leader.turn));
            prop_assert!(attempt.ended <= record.started().unwrap());
        }
    }

    /// G1, G4: four turns are fewer than the gate remembers, and the whole is much shorter than a day.
    #[test]
    fn a_turn_gets_one_checkpoint(timeline in timeline(3, 4, 60), driver in driver()) {
        let replay = simulate(&timeline, &driver, &policy_of(PolicyKind::PerTurn));
        let mut turns = BTreeSet::new();
        for attempt in replay.attempts.iter().filter(|attempt| attempt.end == AttemptEnd::Succeeded) {
            let leader = &timeline.batches()[attempt.leader as usize];
            prop_assert!(turns.insert((leader.sandbox, leader.turn)), "{:?}", attempt);
        }
    }

    /// With a checkpoint before each batch a rollback costs that batch and nothing else, if nothing runs side by side.
    #[test]
    fn a_checkpoint_before_every_batch_loses_nothing_else(timeline in sequence(40), ms in 1..LIMIT) {
        let replay = simulate(&timeline, &reliable(ms), &policy_of(PolicyKind::EveryBatch));
        prop_assert_eq!(replay.summary.checkpoints, timeline.batches().len());
        for record in &replay.batches {
            prop_assert_eq!((record.lost, record.lost_batches, record.lost_turns), (MillisSpan::ZERO, 0, 0));
            prop_assert_eq!(record.returns_to, record.attempt);
        }
    }

    /// In a sequence of batches the product's policy never takes another turn's work with it, unless turns come back.
    #[test]
    fn a_checkpoint_a_turn_loses_its_own_turn_at_most(timeline in sequence(40), ms in 0..LIMIT) {
        let turns: Vec<_> = timeline.batches().iter().map(|batch| batch.turn).collect();
        let mut seen = BTreeSet::new();
        let comes_back = turns.windows(2).any(|two| two[0] != two[1] && !seen.insert(two[0]) || seen.contains(&two[1]));
        let replay = simulate(&timeline, &reliable(ms), &policy_of(PolicyKind::PerTurn));
        prop_assert!(comes_back || replay.summary.lost.across_turns == 0);
        prop_assert_eq!(replay.summary.unprotected, 0);
    }

    #[test]
    fn a_throttle_keeps_its_checkpoints_apart(timeline in timeline(2, 4, 40), driver in driver(), ms in 0..400_u64) {
        let replay = simulate(&timeline, &driver, &policy_of(PolicyKind::Interval(span(ms))));
        let told = Told::of(&timeline, &replay);
        for sandbox in 0..2 {
            let succeeded: Vec<_> =
                told.attempts(sandbox).filter(|(_, attempt)| attempt.end == AttemptEnd::Succeeded).collect();
            for two in succeeded.windows(2) {
                prop_assert!(two[1].1.at.since(two[0].1.at) >= span(ms));
            }
        }
    }

    /// Policies can be compared: the same batch leads the same attempt under all of them.
    #[test]
    fn luck_belongs_to_the_batch(timeline in timeline(2, 4, 40), driver in driver(), one in policy(), other in policy()) {
        let took = |policy| -> Vec<(u32, Option<MillisSpan>)> {
            let replay = simulate(&timeline, &driver, policy);
            replay.attempts.iter().map(|one| (one.leader, one.answered.map(|at| at.since(one.at)))).collect()
        };
        let (one, other) = (took(&one), took(&other));
        for (leader, took) in one {
            for (_, others) in other.iter().filter(|(same, _)| *same == leader) {
                prop_assert_eq!(took, *others, "batch {}", leader);
            }
        }
    }

    /// The claim that each sandbox can be replayed by itself, and that the replay is what a server's one gate would do.
    #[test]
    fn one_gate_for_all_sandboxes_gives_the_same_answers(timeline in timeline(3, 5, 40), block in any::<bool>(), read_only in any::<bool>()) {
        let recorded = |batch: &turnback_core::TimelineBatch| {
            let usual = Recorded { took: span(30), end: DriverEnd::Succeeded };
            turnback_core::TimelineBatch { recorded: Some(batch.recorded.unwrap_or(usual)), ..*batch }
        };
        let timeline = Timeline::new(timeline.batches().iter().map(recorded).collect()).unwrap();
        let policy = ModelPolicy { block, unless_read_only: read_only, ..policy_of(PolicyKind::PerTurn) };
        let driver = DriverModel { recorded: true, ..reliable(0) };
        let replay = simulate(&timeline, &driver, &policy);
        let told = Told::of(&timeline, &replay);
        let expected = OneGate::run(&timeline, &policy);
        for (place, (record, expected)) in told.records.iter().zip(expected).enumerate() {
            let Why::Gate(reason) = record.why else { panic!("{:?}", record.why) };
            let answer = Answer {
                at: record.at,
                answered: record.at.saturating_add(record.waited),
                ran: record.ran,
                reason,
                protected: record.protected,
                late: record.late,
            };
            prop_assert_eq!(answer, expected, "batch {}", place);
        }
    }
}

/// `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    ProptestConfig { cases: config.cases.max(500), ..config }
}
