//! G14: commands that agents run, judged by hand in `read-only.json`.

mod common;

use turnback_risk::{MAX_COMMAND_BYTES, MAX_SUBSHELL_DEPTH, Verdict, Why, is_read_only};

#[test]
fn g14_each_command_is_judged_as_by_hand() {
    let vectors = common::vectors();
    assert!(vectors.read_only.len() >= 300, "{}", vectors.read_only.len());
    assert!(vectors.destructive.len() >= 200, "{}", vectors.destructive.len());
    let doubted = vectors.read_only.iter().filter_map(|command| match is_read_only(command) {
        Verdict::ReadOnly => None,
        Verdict::Destructive { why } => Some(format!("{command:?} only reads, but: {why}")),
    });
    let trusted = vectors.destructive.iter().filter(|entry| is_read_only(&entry.command).is_read_only());
    let trusted = trusted.map(|entry| format!("{:?} taken for read-only", entry.command));
    let wrong: Vec<String> = doubted.chain(trusted).collect();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn g14_the_reason_says_what_was_found() {
    let why = |command: &str| match is_read_only(command) {
        Verdict::ReadOnly => "read-only".to_owned(),
        Verdict::Destructive { why } => why.to_string(),
    };
    assert_eq!(why("ls; rm x"), "\"rm\" is not known to only read");
    assert_eq!(why("find . -delete"), "find is not known to only read with \"-delete\"");
    assert_eq!(
        why("find . -name *.ts"),
        "find is not known to only read with a pattern that may become something else"
    );
    // By the name that was called, of several that share what they may get.
    assert_eq!(why("docker ps"), "docker is not known to only read with \"ps\"");
    assert_eq!(why("git status"), "git is not known to only read with \"status\"");
    assert_eq!(why("git"), "git is not known to only read with these arguments");
    assert_eq!(why("echo $(date)"), "it has a command substitution");
    assert_eq!(why("ls &"), "it has a command in the background");
    assert_eq!(why(" \n"), "there is no command in it");
    assert_eq!(why("ls ("), "it is no shell command that can be parsed");
    let long = format!("{} x", "r".repeat(50));
    assert_eq!(why(&long), format!("\"{}\"… is not known to only read", "r".repeat(40)));
}

#[test]
fn g14_what_is_longer_or_deeper_than_the_bounds_is_not_judged() {
    let most = format!("echo {}", "a".repeat(MAX_COMMAND_BYTES - 5));
    assert_eq!(is_read_only(&most), Verdict::ReadOnly);
    let bytes = MAX_COMMAND_BYTES + 1;
    assert_eq!(is_read_only(&format!("{most}a")), Verdict::Destructive { why: Why::TooLong { bytes } });

    let nested = |depth: usize| format!("{}ls{}", "( true; ".repeat(depth), " )".repeat(depth));
    assert_eq!(is_read_only(&nested(MAX_SUBSHELL_DEPTH)), Verdict::ReadOnly);
    assert!(!is_read_only(&nested(MAX_SUBSHELL_DEPTH + 1)).is_read_only());
    for opener in [
        "{ ",
        "! ",
        "if ",
        "( ",
        "while ",
        "$(",
        "${",
        "`",
        "[[ ",
        "(( ",
        "f() ",
        "case x in x) ",
        "'",
        "a=(",
    ] {
        assert!(!is_read_only(&opener.repeat(MAX_COMMAND_BYTES / opener.len())).is_read_only(), "{opener}");
    }
}
