//! Programs that run another one for what they found: harmless when that one only reads whatever its arguments are.

use crate::script::is_option;
use crate::table;
use crate::word::Word;

/// Rows of the table that read with any arguments ([`Reads::Always`](crate::argument::Reads::Always)) and are programs of their own in every system, not
/// only builtins of a shell: what runs them looks for a file of that name.
const RUNNABLE: [&str; 24] = [
    "ls",
    "cat",
    "head",
    "tail",
    "wc",
    "nl",
    "tac",
    "stat",
    "du",
    "echo",
    "basename",
    "dirname",
    "readlink",
    "realpath",
    "md5sum",
    "sha1sum",
    "sha256sum",
    "cksum",
    "od",
    "cmp",
    "grep",
    "egrep",
    "fgrep",
    "cut",
];

/// Whether a word names one of them.
fn runnable(word: &Word) -> bool {
    word.literal().is_some_and(|name| {
        let name = table::usual(name);
        RUNNABLE.contains(&name) && table::reads_always(name)
    })
}

/// What follows the `-exec` of `find` up to its end, if it runs a program that only reads. Each word has to be known: one that is not
/// may become `;`, and what stands behind it part of the expression.
pub(crate) fn exec(words: &[Word]) -> Option<&[Word]> {
    if !words.first().is_some_and(runnable) {
        return None;
    }
    for (at, word) in words.iter().enumerate() {
        let text = word.literal()?;
        // A `+` ends it behind `{}`; elsewhere not every system takes it for an argument.
        let ends = text == ";"
            || text == "+" && at.checked_sub(1).and_then(|i| words.get(i)?.literal()) == Some("{}");
        if ends {
            return words.get(at + 1..);
        }
        if text == "+" {
            return None;
        }
    }
    None
}

/// `xargs` with a program that only reads; without any it runs `echo`.
pub(crate) fn xargs(words: &[Word]) -> Result<(), &Word> {
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let Some(text) = word.literal() else { return Err(word) };
        if !is_option(text) {
            return if runnable(word) { Ok(()) } else { Err(word) };
        }
        at += match text {
            "-0" | "-r" | "-t" | "--null" | "--no-run-if-empty" | "--verbose" | "-I{}" | "-I%" => 1,
            // What is replaced may be anything but a part of the program's own name.
            "-I" if matches!(words.get(at + 1).and_then(Word::literal), Some("{}" | "%")) => 2,
            "-n" | "-L" | "-P" | "-s" if words.get(at + 1).and_then(Word::literal).is_some_and(number) => 2,
            _ if ["-n", "-L", "-P", "-s"].iter().any(|o| text.strip_prefix(o).is_some_and(number)) => 1,
            _ => return Err(word),
        };
    }
    Ok(())
}

fn number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}
