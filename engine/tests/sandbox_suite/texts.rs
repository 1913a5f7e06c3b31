//! Texts of many lines, for both strategies that merge texts: what takes too long is a conflict (F13, C12).

use turnback_engine::sandbox::{CommitOptions, MechanismChoice, StrategyName};

use crate::commit::{conflicts, put, text};
use crate::contract::subject::{Says, Subject};
use crate::ground::Kind;
use crate::place::{Place, ctx};

/// The lines of a text; every seventh one is what is given, one for each of the sides.
fn lines(count: usize, sandbox: &str, host: &str) -> String {
    let line = |i: usize| match i % 7 {
        3 => format!("{sandbox}\n"),
        5 => format!("{host}\n"),
        other => format!("{other}\n"),
    };
    (0..count).map(line).collect()
}

fn merges(strategy: StrategyName, count: usize) -> bool {
    let place = Place::here();
    let (kind, asked, says) = (Kind::Here, MechanismChoice::Auto, Says::Nothing);
    let subject = Subject { kind, strategy, asked, says };
    let sandbox = subject.small(&place, &[("f", &lines(count, "3", "5"))]);
    put(&sandbox, "f", lines(count, "sandbox", "5"));
    place.write("f", lines(count, "3", "host"));
    if subject.is_git() {
        // For git a change that nobody committed is a local one.
        subject.settle(&place);
    }
    let options = CommitOptions { text_merge: Some(true), ..CommitOptions::default() };
    let report = sandbox.commit(&options, &ctx()).unwrap();
    if report.committed {
        assert!(text(&place, "f") == lines(count, "sandbox", "host"), "{strategy}: {count} lines");
    } else {
        assert_eq!(conflicts(&report), ["f"]);
        assert!(text(&place, "f") == lines(count, "3", "host"));
    }
    report.committed
}

#[test]
fn of_many_lines() {
    for strategy in [StrategyName::CopyOnWrite, StrategyName::GitWorktree] {
        assert!(merges(strategy, 60_000), "{strategy}");
        assert!(merges(strategy, 100_000), "{strategy}");
        assert!(!merges(strategy, 100_001), "{strategy}: the limit");
    }
}
