use crate::gate::output::{Output, Start};
use crate::gate::verdict::Verdict;

/// Writes an output at the end of `to`. `js-tests/vectors/README.md` has the format.
pub(super) fn output(to: &mut String, output: &Output) {
    match output {
        Output::Start(start) => start_of(to, start),
        Output::Verdict(verdict) => verdict_of(to, verdict),
        Output::Abort { attempt } => {
            kind(to, "abort");
            number(to, "attempt", attempt.as_u64());
        }
        Output::DeleteLate { attempt, checkpoint_id } => {
            kind(to, "delete_late");
            number(to, "attempt", attempt.as_u64());
            text(to, "checkpointId", &checkpoint_id.to_string());
        }
        Output::Timeout { at, reason } => {
            kind(to, "timeout");
            number(to, "at", at.as_u64());
            text(to, "reason", reason.as_str());
        }
        Output::Idle => kind(to, "idle"),
    }
    to.push('}');
}

fn start_of(to: &mut String, start: &Start) {
    kind(to, "start");
    number(to, "attempt", start.attempt.as_u64());
    text(to, "sandboxId", start.sandbox_id.as_str());
    text(to, "turnId", start.turn_id.as_str());
    text(to, "comment", &start.comment());
    flag(to, "late", start.late);
    number(to, "deadline", start.deadline.as_u64());
}

fn verdict_of(to: &mut String, verdict: &Verdict) {
    let cover = verdict.cover.as_ref();
    kind(to, "verdict");
    number(to, "batch", verdict.batch.as_u64());
    text(to, "outcome", verdict.outcome().as_str());
    flag(to, "protected", verdict.protected());
    flag(to, "late", cover.is_some_and(|cover| cover.late));
    flag(to, "partial", cover.is_some_and(|cover| cover.partial));
    text(to, "reason", verdict.reason.as_str());
    if let Some(id) = cover.and_then(|cover| cover.checkpoint_id.as_ref()) {
        text(to, "checkpointId", &id.to_string());
    }
    number(to, "durationMs", verdict.duration.as_u64());
}

/// Opens the object.
fn kind(to: &mut String, kind: &str) {
    to.push_str("{\"type\":");
    quoted(to, kind);
}

fn name(to: &mut String, field: &str) {
    to.push(',');
    quoted(to, field);
    to.push(':');
}

fn number(to: &mut String, field: &str, value: u64) {
    name(to, field);
    to.push_str(&value.to_string());
}

fn flag(to: &mut String, field: &str, value: bool) {
    name(to, field);
    to.push_str(if value { "true" } else { "false" });
}

fn text(to: &mut String, field: &str, value: &str) {
    name(to, field);
    quoted(to, value);
}

/// A text as `JSON.stringify` writes it.
fn quoted(to: &mut String, text: &str) {
    to.push('"');
    for character in text.chars() {
        match character {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\u{8}' => to.push_str("\\b"),
            '\u{c}' => to.push_str("\\f"),
            '\n' => to.push_str("\\n"),
            '\r' => to.push_str("\\r"),
            '\t' => to.push_str("\\t"),
            '\0'..='\u{1f}' => {
                to.push_str("\\u00");
                for shift in [4, 0] {
                    to.extend(char::from_digit(u32::from(character) >> shift & 0xf, 16));
                }
            }
            _ => to.push(character),
        }
    }
    to.push('"');
}
