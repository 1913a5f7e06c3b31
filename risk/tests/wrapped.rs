//! G14: a destructive command stays destructive however it is quoted, wrapped and put beside harmless ones.

mod common;

use proptest::prelude::*;
use turnback_risk::is_read_only;

/// How each plain word is written; all mean the same to a shell.
const QUOTINGS: usize = 7;

fn quoted(word: &str, how: usize) -> String {
    let (first, rest) = word.split_at(word.len().min(1));
    match how % QUOTINGS {
        1 => format!("'{word}'"),
        2 => format!("\"{word}\""),
        3 => word.chars().flat_map(|c| ['\\', c]).collect(),
        4 => format!("{first}\"{rest}\""),
        5 => format!("''{word}"),
        6 => format!("{first}\\{rest}''"),
        _ => word.to_owned(),
    }
}

/// Requotes the words in which no character means anything to the shell.
fn requoted(command: &str, hows: &[usize]) -> String {
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "_./=-".contains(c))
    };
    let words = command.split(' ').enumerate().map(|(i, word)| {
        let how = hows.get(i % hows.len().max(1)).copied().unwrap_or(0);
        // `x\` before nothing would take the blank behind it.
        let how = if word.len() < 2 && how % QUOTINGS == 6 { 1 } else { how };
        if plain(word) { quoted(word, how) } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

const HARMLESS: [&str; 8] = [
    "ls",
    "pwd",
    "cat a.txt | wc -l",
    "echo 'a b'",
    "true",
    "! grep -q x y",
    "( cd d && ls )",
    "find . -name '*.c'",
];

/// How many ways there are to put a command beside or into something harmless.
const WRAPPINGS: usize = 21;

fn wrapped(command: &str, how: usize, other: usize) -> String {
    let other = HARMLESS.get(other % HARMLESS.len()).copied().unwrap_or("ls");
    match how % WRAPPINGS {
        1 => format!("( {command} )"),
        2 => format!("{{ {command}; }}"),
        3 => format!("if true; then {command}; fi"),
        4 => format!("if {command}; then true; fi"),
        5 => format!("! {command}"),
        6 => format!("{other} && {command}"),
        7 => format!("{command} || {other}"),
        8 => format!("{other}; {command}"),
        9 => format!("{command}; {other}"),
        10 => format!("{command} | cat"),
        11 => format!("{other} | {command}"),
        12 => format!("{command} 2>/dev/null"),
        13 => format!("{command}\n{other}"),
        14 => format!("{other}\n{command}"),
        15 => format!("  {command}  "),
        16 => format!("{command} > /dev/null 2>&1"),
        17 => format!("if false; then {other}; else {command}; fi"),
        18 => format!("for f in a b; do {command}; done"),
        19 => format!("# Look at it\n{command}"),
        20 => format!("find . -exec grep -q x {{}} \\; -print | xargs cat | {command}"),
        _ => command.to_owned(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Each case tries all the forms.
    #[test]
    fn g14_no_destructive_form_is_ever_called_read_only(
        hows in prop::collection::vec(0..QUOTINGS, 1..8),
        wraps in prop::collection::vec((0..WRAPPINGS, 0_usize..8), 0..4),
    ) {
        let forms = common::vectors().destructive;
        let forms: Vec<_> = forms.iter().filter(|form| !form.alone).collect();
        prop_assert!(forms.len() >= 200);
        for form in forms {
            let start = requoted(&form.command, &hows);
            let made = wraps.iter().fold(start, |command, (how, other)| wrapped(&command, *how, *other));
            prop_assert!(!is_read_only(&made).is_read_only(), "{made}");
        }
    }
}

/// The same wrapping leaves harmless commands provable, or the test above would show nothing.
#[test]
fn g14_wrapping_by_itself_makes_nothing_destructive() {
    for how in 0..WRAPPINGS {
        for quoting in 0..QUOTINGS {
            let made = wrapped(&requoted("grep -rn foo src", &[quoting]), how, how);
            assert!(is_read_only(&made).is_read_only(), "{made}");
        }
    }
}
