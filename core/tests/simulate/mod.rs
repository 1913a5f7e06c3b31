//! Scenarios as JSON, and what became of them as the rows of `js-tests/vectors/simulate/`. In the package `turnback-policy` TypeScript does
//! the same (`wasm/lib/simulate/`).
#![allow(dead_code, reason = "each test file uses a part of this")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

pub(crate) mod naive;
pub(crate) mod one_gate;
pub(crate) mod plan;

use serde_json::{Value, json};
use turnback_core::{
    AUTOMATIC_LAST, AUTOMATIC_WITHIN, AttemptEnd, AttemptRecord, AutomaticRule, BatchRecord, DriverEnd,
    DriverModel, Latency, Millis, MillisSpan, ModelPolicy, PolicyKind, Rate, Recorded, Replay, Timeline,
    TimelineBatch,
};

pub(crate) struct Scenario {
    pub(crate) timeline: Timeline,
    pub(crate) driver: DriverModel,
    pub(crate) policies: Vec<ModelPolicy>,
    /// What each batch's sandbox and turn are called.
    names: Vec<(String, Option<String>)>,
}

fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn span(value: &Value) -> MillisSpan {
    MillisSpan::from_millis(whole(value))
}

fn or<'a>(value: &'a Value, default: &'a Value) -> &'a Value {
    if value.is_null() { default } else { value }
}

/// A text's number: how many others came before it.
fn number(known: &mut Vec<String>, text: &str) -> u32 {
    let at = known.iter().position(|one| one == text).unwrap_or_else(|| {
        known.push(text.to_owned());
        known.len() - 1
    });
    u32::try_from(at).unwrap()
}

impl Scenario {
    pub(crate) fn of(json: &Value) -> Self {
        let (mut sandboxes, mut turns, mut names) = (Vec::new(), Vec::new(), Vec::new());
        let batches = json["batches"].as_array().unwrap().iter().map(|batch| {
            let (sandbox, turn) = (batch["sandbox"].as_str().unwrap(), batch["turn"].as_str());
            names.push((sandbox.to_owned(), turn.map(str::to_owned)));
            TimelineBatch {
                sandbox: number(&mut sandboxes, sandbox),
                turn: turn.map(|turn| number(&mut turns, turn)),
                start: Millis::since_epoch(whole(&batch["startMs"])),
                duration: span(&batch["durationMs"]),
                read_only: batch["kind"] == "read_only",
                recorded: batch.get("attempt").map(recorded),
            }
        });
        let timeline = Timeline::new(batches.collect()).unwrap();
        let policies = or(&json["policies"], &json!([{ "kind": "per_turn" }])).as_array().unwrap().clone();
        Self { timeline, driver: driver(json), policies: policies.iter().map(policy).collect(), names }
    }

    /// A replay's events in the order of the trace, each as its row.
    pub(crate) fn rows(&self, replay: &Replay) -> Vec<Value> {
        let batches = replay.batches.iter().map(|record| (record.at, 0, self.batch_row(record)));
        let attempts = (1..)
            .zip(&replay.attempts)
            .map(|(number, record)| (record.at, 1, self.attempt_row(number, record)));
        let mut rows: Vec<_> = batches.chain(attempts).collect();
        // Stable: of events at one instant batches come first, in their own order.
        rows.sort_by_key(|(at, kind, _)| (*at, *kind));
        rows.into_iter().map(|(_, _, row)| row).collect()
    }

    fn batch_row(&self, record: &BatchRecord) -> Value {
        let duration = self.timeline.batches()[record.batch as usize].duration;
        let started = record.started();
        json!([
            "batch",
            record.batch,
            record.at.as_u64(),
            started.map(Millis::as_u64),
            started.map(|at| at.saturating_add(duration).as_u64()),
            record.why.outcome().as_str(),
            record.why.as_str(),
            record.protected,
            record.late,
            record.attempt,
            record.returns_to,
            record.lost.as_u64(),
            record.lost_batches,
            record.lost_turns,
        ])
    }

    fn attempt_row(&self, number: u32, record: &AttemptRecord) -> Value {
        let (sandbox, turn) = &self.names[record.leader as usize];
        json!([
            "attempt",
            number,
            sandbox,
            turn,
            record.at.as_u64(),
            record.ended.as_u64(),
            record.answered.map(Millis::as_u64),
            match record.end {
                AttemptEnd::Succeeded => "succeeded",
                AttemptEnd::Failed => "failed",
                AttemptEnd::TimedOut => "timed_out",
            },
            record.late,
            record.kept,
        ])
    }
}

/// A summary as JSON, without the policy's name, which TypeScript gives.
pub(crate) fn summary_json(replay: &Replay, policy: &ModelPolicy) -> Value {
    let summary = &replay.summary;
    let skipped = summary.skipped.iter().map(|(why, count)| (why.as_str().to_owned(), json!(count)));
    let kind = match policy.kind {
        PolicyKind::PerTurn => "per_turn",
        PolicyKind::EveryBatch => "every_batch",
        PolicyKind::Interval(_) => "interval",
        PolicyKind::LastTurnOnly => "last_turn_only",
        PolicyKind::SharedAcrossTurns => "shared_across_turns",
        PolicyKind::Never => "never",
    };
    json!({
        "kind": kind,
        "mistake": policy.kind.is_mistake(),
        "checkpoints": summary.checkpoints,
        "failures": summary.failures,
        "timeouts": summary.timeouts,
        "joined": summary.joined,
        "alreadyCovered": summary.already_covered,
        "skipped": skipped.collect::<serde_json::Map<_, _>>(),
        "refused": summary.refused,
        "unprotected": summary.unprotected,
        "waiting": {
            "totalMs": summary.waiting.total.as_u64(),
            "medianMs": summary.waiting.median.as_u64(),
            "p99Ms": summary.waiting.p99.as_u64(),
            "maxMs": summary.waiting.max.as_u64(),
        },
        "kept": summary.kept,
        "lost": {
            "meanMs": summary.lost.mean_ms,
            "p99Ms": summary.lost.p99.as_u64(),
            "maxMs": summary.lost.max.as_u64(),
            "batches": summary.lost.batches,
            "acrossTurns": summary.lost.across_turns,
            "nothing": summary.lost.nothing,
        },
    })
}

fn recorded(json: &Value) -> Recorded {
    let end = match json["outcome"].as_str().unwrap() {
        "succeeded" => DriverEnd::Succeeded,
        "failed" => DriverEnd::Failed,
        "stalled" => DriverEnd::Stalled,
        other => panic!("{other}"),
    };
    Recorded { took: span(&json["ms"]), end }
}

fn driver(scenario: &Value) -> DriverModel {
    let json = &scenario["driver"];
    let latency = &json["latency"];
    let of = |name: &str| span(&latency[name]);
    let rate = |name: &str| Rate::new(json[name].as_f64().unwrap_or_default()).unwrap();
    DriverModel {
        seed: u32::try_from(scenario["seed"].as_u64().unwrap_or_default()).unwrap(),
        latency: match latency["kind"].as_str() {
            None => Latency::Fixed(MillisSpan::from_millis(50)),
            Some("fixed") => Latency::Fixed(of("ms")),
            Some("uniform") => Latency::Uniform(of("minMs"), of("maxMs")),
            Some("quantiles") => {
                let least = latency.get("minMs").map_or(MillisSpan::ZERO, span);
                Latency::Quantiles([least, of("p50Ms"), of("p90Ms"), of("p99Ms"), of("maxMs")])
            }
            Some("samples") => Latency::Samples(latency["ms"].as_array().unwrap().iter().map(span).collect()),
            Some(other) => panic!("{other}"),
        },
        failures: rate("failureRate"),
        stalls: rate("stallRate"),
        recorded: json["recorded"].as_bool().unwrap_or(true),
    }
}

fn policy(json: &Value) -> ModelPolicy {
    let retention = &json["retention"];
    ModelPolicy {
        kind: match json["kind"].as_str().unwrap() {
            "per_turn" => PolicyKind::PerTurn,
            "every_batch" => PolicyKind::EveryBatch,
            "interval" => PolicyKind::Interval(span(&json["intervalMs"])),
            "last_turn_only" => PolicyKind::LastTurnOnly,
            "shared_across_turns" => PolicyKind::SharedAcrossTurns,
            "never" => PolicyKind::Never,
            other => panic!("{other}"),
        },
        unless_read_only: json["when"] == "unless_read_only",
        timeout: span(or(&json["timeoutMs"], &json!(10_000))),
        block: json["onFailure"] == "block",
        retention: AutomaticRule {
            last: retention["keepLast"]
                .as_u64()
                .map_or(AUTOMATIC_LAST, |last| usize::try_from(last).unwrap()),
            within: retention.get("keepWithinMs").map_or(AUTOMATIC_WITHIN, span),
        },
    }
}
