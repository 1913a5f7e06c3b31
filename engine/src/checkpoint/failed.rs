//! What the error of a restore says of the workspace: whether anything was written, and how to go on (C8).

use super::workspace::Workspace;
use crate::context::Context;
use crate::error::{Code, Error};
use crate::recovery::RestoreKind;
use crate::restore::journal::Head;

/// The error of work that was begun and not finished.
pub(super) fn interrupted(kind: RestoreKind, cause: Error) -> Error {
    let what = kind.as_str();
    begun(
        cause,
        format!("the {what} was interrupted after its first write"),
        format!("run it again, or `turnback recover`: what was begun is then finished; the journal keeps the rest of the {what}"),
    )
    .with_detail("pending", "true".to_owned())
}

/// The error of a call that was to end what was interrupted: it waits on.
pub(super) fn unfinished(workspace: &Workspace, head: &Head, error: Error) -> Error {
    let error = interrupted(head.kind, error).at(&workspace.path);
    match head.undo {
        Some(id) => error.with_detail("undoCheckpointId", id.to_string()),
        None => error,
    }
}

/// The error of work that was begun without a journal and not finished.
pub(super) fn left_in_part(kind: RestoreKind, cause: Error) -> Error {
    let what = kind.as_str();
    begun(
        cause,
        format!("the {what} was interrupted after its first write, and there was no room for a journal"),
        format!("free some space and run the {what} again: it does what is left"),
    )
}

/// The error of work of which nothing was written to the workspace, whose journal stays all the same.
pub(super) fn journal_stays(kind: RestoreKind, cause: &Error, stays: Error) -> Error {
    let what = kind.as_str();
    Error::new(
        cause.code(),
        format!("the {what} failed before its first write ({cause}), and its journal cannot be taken back"),
        "give it up (`turnback recover --abandon`), or the next call that writes to the workspace carries it out",
    )
    .because(stays)
    .with_detail("pending", "true".to_owned())
}

fn begun(cause: Error, found: String, advice: String) -> Error {
    let details = cause.details().to_vec();
    let cause = match cause.code() {
        // Their own advice is for work that has not begun.
        Code::Aborted | Code::TimedOut => cause.advised("what it did so far stays"),
        _ => cause,
    };
    let error =
        Error::new(cause.code(), found, advice).because(cause).with_detail("begun", "true".to_owned());
    details.into_iter().fold(error, |error, (name, value)| error.with_detail(name, value))
}

/// The error of a restore, with what became of the workspace where it does not say so itself.
pub(super) fn told(error: Error, ctx: &Context) -> Error {
    let says = |error: &Error, what| error.details().iter().any(|(name, _)| *name == what);
    let recovered = ctx.reached.far().recovered;
    let gave_up = matches!(error.code(), Code::Aborted | Code::TimedOut);
    let error = match (gave_up && !says(&error, "pending") && !says(&error, "begun"), recovered) {
        (false, None) => return completed(error),
        (false, Some(_)) => error,
        (true, recovered) => {
            let nothing = match recovered {
                None => "nothing was written to the workspace",
                Some(_) => "of what was asked nothing was written to the workspace",
            };
            let more = if error.code() == Code::TimedOut { ": give it more time" } else { "" };
            error.advised(format!("{nothing}{more}"))
        }
    };
    let error = match recovered {
        None => error,
        Some(outcome) => {
            let ended = match outcome {
                "finished" => "before that a restore that had been interrupted was carried out to its end",
                _ => "before that a restore that had been interrupted was given up",
            };
            let advice = format!("{}; {ended}", error.advice());
            error.advised(advice).with_detail("recovered", outcome.to_owned())
        }
    };
    completed(error)
}

/// Of what was given up both are said, whichever is not.
fn completed(error: Error) -> Error {
    match error.code() {
        Code::Aborted | Code::TimedOut => ["pending", "begun"].into_iter().fold(error, |error, what| {
            match error.details().iter().any(|(name, _)| *name == what) {
                true => error,
                false => error.with_detail(what, "false".to_owned()),
            }
        }),
        _ => error,
    }
}

/// Where there is no room for what undoes a restore, it can be done without: by those who may ask for that.
pub(super) fn or_without_safety(kind: RestoreKind, error: Error) -> Error {
    match (kind, error.code()) {
        (RestoreKind::Rollback | RestoreKind::Revert, Code::StoreFull | Code::DiskFull) => {
            let advice = format!(
                "{}; or do it without the checkpoint that undoes it (`safety: false`, --no-safety): what is overwritten is then lost",
                error.advice()
            );
            error.advised(advice)
        }
        _ => error,
    }
}
