//! The few commands of `git` that only read, whatever the repository's configuration says.
//!
//! Whatever reads the index (`status`, `diff`, even `ls-files`) runs the file system monitor, `status` and `diff` also refresh the
//! index and run the clean filters; `log`, `show` and `diff` run external
//! differs, text converters, `gpg` and a pager; each of these programs is named by a file in the repository. Listings
//! (`branch -a`, `tag`, `config --list`) start the pager, and `pager.<command>` gives one to most others, where they write to a terminal.
//! Whatever follows commits (`merge-base`, `describe`, `HEAD~3`) fetches what a partial clone lacks, by a program that the repository
//! names. `rev-parse --show-superproject-working-tree` reads the index of the repository around. None of them is proven.

use crate::argument::{Operands, Options};
use crate::word::Word;

const NO_OPTIONS: Options =
    Options { flags: "", valued: "", long: &[], words: &[], operands: Operands::AtMost(0) };

/// Commands that take options, and revisions if any operands.
const COMMANDS: &[(&str, Options)] = &[(
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
        ],
        operands: Operands::Any,
        ..NO_OPTIONS
    },
)];

/// Whole commands.
const WHOLE: &[&[&str]] = &[&["--version"], &["version"], &["branch", "--show-current"]];

/// Whole commands for which a repository can name a pager.
const PAGED: &[&[&str]] = &[
    &["remote"],
    &["remote", "-v"],
    &["symbolic-ref", "HEAD"],
    &["symbolic-ref", "--short", "HEAD"],
    &["symbolic-ref", "-q", "HEAD"],
];

/// Commands with one name at their end. `config KEY` and `config get KEY` read as well, but `config edit` and `config KEY VALUE` do not.
const WITH_NAME: &[&[&str]] =
    &[&["config", "--get"], &["config", "--global", "--get"], &["config", "--local", "--get"]];

/// Such commands for which a repository can name a pager.
const PAGED_WITH_NAME: &[&[&str]] = &[&["remote", "get-url"]];

/// `Err` with the word that is not harmless, or without one when something is missing.
pub(crate) fn judge(words: &[Word]) -> Result<(), Option<&Word>> {
    let mut words = words;
    let mut is_unpaged = false;
    loop {
        words = match words {
            [Word::Literal(option), rest @ ..] if option == "--no-pager" => {
                is_unpaged = true;
                rest
            }
            [Word::Literal(option), rest @ ..] if option == "--no-optional-locks" => rest,
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
    let is_one_of = |list: &[&[&str]], words: &[Word]| list.iter().any(|whole| same(whole, words));
    if is_one_of(WHOLE, words) || (is_unpaged && is_one_of(PAGED, words)) {
        return Ok(());
    }
    if let Some((Word::Literal(name), start)) = words.split_last()
        && is_name(name)
        && (is_one_of(WITH_NAME, start) || (is_unpaged && is_one_of(PAGED_WITH_NAME, start)))
    {
        return Ok(());
    }
    let Some((first, rest)) = words.split_first() else { return Err(None) };
    let command = first.literal().and_then(|first| COMMANDS.iter().find(|(name, _)| *name == first));
    let Some((_, options)) = command else { return Err(Some(first)) };
    options.judge(rest).map_err(Some)?;
    // Only what a file of the repository says: for an id, a path or a parent (`HEAD:file`, `HEAD~3`) objects may have to be fetched.
    let revision = |word: &&Word| {
        word.literal().is_some_and(|text| is_reference(text) || text.starts_with("--") || text == "-q")
    };
    rest.iter().find(|word| !revision(word)).map_or(Ok(()), |word| Err(Some(word)))
}

/// A name of a branch, a remote or a setting.
fn is_name(text: &str) -> bool {
    !text.starts_with('-') && text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-".contains(c))
}

/// A name that is neither two of them (`a..b`) nor may be the beginning of an object's id.
fn is_reference(text: &str) -> bool {
    is_name(text) && !text.contains("..") && !text.chars().all(|c| c.is_ascii_hexdigit())
}
