//! The few commands of `git` that only read, whatever the repository's configuration says.
//!
//! Whatever reads the index (`status`, `diff`, even `ls-files`) runs the file system monitor, `status` and `diff` also refresh the
//! index and run the clean filters; `log`, `show` and `diff` run external
//! differs, text converters, `gpg` and a pager; each of these programs is named by a file in the repository. Listings
//! (`branch -a`, `tag`, `config --list`) start the pager. Objects may be fetched when a partial clone lacks them. None of them is proven.

use crate::argument::{Operands, Options};
use crate::word::Word;

const NO_OPTIONS: Options =
    Options { flags: "", valued: "", long: &[], words: &[], operands: Operands::AtMost(0) };

/// Commands that take options, and revisions if any operands.
const COMMANDS: &[(&str, Options)] = &[
    (
        "rev-parse",
        Options {
            flags: "q",
            long: &[
                "--abbrev-ref",
                "--short",
                "--show-toplevel",
                "--git-dir",
                "--git-common-dir",
                "--absolute-git-dir",
                "--is-inside-work-tree",
                "--is-inside-git-dir",
                "--is-bare-repository",
                "--show-prefix",
                "--show-cdup",
                "--verify",
                "--quiet",
                "--symbolic-full-name",
                "--show-superproject-working-tree",
            ],
            operands: Operands::Any,
            ..NO_OPTIONS
        },
    ),
    ("merge-base", Options { long: &["--is-ancestor", "--all"], operands: Operands::Any, ..NO_OPTIONS }),
];

/// Whole commands.
const WHOLE: &[&[&str]] = &[
    &["--version"],
    &["version"],
    &["branch", "--show-current"],
    &["remote"],
    &["remote", "-v"],
    // `--dirty` would refresh the index.
    &["describe"],
    &["describe", "--tags"],
    &["describe", "--always"],
    &["describe", "--tags", "--always"],
    &["describe", "--always", "--tags"],
    &["describe", "--tags", "--abbrev=0"],
    &["describe", "--abbrev=0", "--tags"],
    &["symbolic-ref", "HEAD"],
    &["symbolic-ref", "--short", "HEAD"],
    &["symbolic-ref", "-q", "HEAD"],
];

/// Commands with one name at their end. `config KEY` and `config get KEY` read as well, but `config edit` and `config KEY VALUE` do not.
const WITH_NAME: &[&[&str]] = &[
    &["remote", "get-url"],
    &["config", "--get"],
    &["config", "--global", "--get"],
    &["config", "--local", "--get"],
];

/// `Err` with the word that is not harmless, or without one when something is missing.
pub(crate) fn judge(words: &[Word]) -> Result<(), Option<&Word>> {
    let mut words = words;
    loop {
        words = match words {
            [Word::Literal(option), rest @ ..]
                if option == "--no-pager" || option == "--no-optional-locks" =>
            {
                rest
            }
            [Word::Literal(option), Word::Literal(directory), rest @ ..]
                if option == "-C" && !directory.starts_with('-') =>
            {
                rest
            }
            _ => break,
        };
    }
    let same = |list: &[&str], words: &[Word]| {
        list.len() == words.len() && list.iter().zip(words).all(|(a, b)| b.literal() == Some(*a))
    };
    if WHOLE.iter().any(|whole| same(whole, words)) {
        return Ok(());
    }
    if let Some((Word::Literal(name), start)) = words.split_last()
        && is_name(name)
        && WITH_NAME.iter().any(|list| same(list, start))
    {
        return Ok(());
    }
    let Some((first, rest)) = words.split_first() else { return Err(None) };
    let command = first.literal().and_then(|first| COMMANDS.iter().find(|(name, _)| *name == first));
    let Some((_, options)) = command else { return Err(Some(first)) };
    options.judge(rest).map_err(Some)?;
    // A path behind a revision (`HEAD:file`) needs objects that may have to be fetched.
    let revision = |word: &&Word| {
        word.literal().is_some_and(|text| is_name(text) || text.starts_with("--") || text == "-q")
    };
    rest.iter().find(|word| !revision(word)).map_or(Ok(()), |word| Err(Some(word)))
}

/// A name of a branch, a remote or a setting, or a revision made from one.
fn is_name(text: &str) -> bool {
    !text.starts_with('-') && text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-@~^".contains(c))
}
