//! Whether a program of the table only reads with the arguments that it gets.

use crate::git;
use crate::script;
use crate::why::{Why, shown};
use crate::word::Word;

/// A row of the table of programs that only read.
pub(crate) struct Program {
    /// Its names.
    pub(crate) names: &'static [&'static str],
    /// With which arguments it only reads.
    pub(crate) reads: Reads,
}

/// With which arguments a program only reads.
pub(crate) enum Reads {
    /// With any: it has no option that writes, runs or sets anything.
    Always,
    /// With none at all.
    Bare,
    /// With exactly one of these lists of arguments.
    Exactly(&'static [&'static [&'static str]]),
    /// With this first argument, whatever follows.
    After(&'static [&'static str]),
    /// With options out of these and operands.
    With(Options),
    /// It has a language of its own.
    Scripted(fn(&[Word]) -> Result<(), &Word>),
    /// Its first arguments choose one of many programs.
    Git,
}

/// The harmless options of a program, and how many operands it may have.
pub(crate) struct Options {
    /// Letters that stand alone (`-n`) or together (`-nr`).
    pub(crate) flags: &'static str,
    /// Letters that a value follows, as part of the word (`-k2`) or as the next one.
    pub(crate) valued: &'static str,
    /// Options that are written out, without a value or with `=value`. A value in the next word is judged as an operand.
    pub(crate) long: &'static [&'static str],
    /// Whole words.
    pub(crate) words: &'static [&'static str],
    /// The operands that it may have.
    pub(crate) operands: Operands,
}

/// Which operands a program may have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Any number of any.
    Any,
    /// At most this many: a further one would be written to.
    AtMost(usize),
    /// Only such as begin with this.
    Beginning(char),
}

impl Program {
    /// Judges the arguments that it gets under one of its names.
    pub(crate) fn judge(&self, name: &str, words: &[Word]) -> Result<(), Why> {
        let program = self.names.iter().find(|known| **known == name).copied().unwrap_or("it");
        self.refused(words).map_or(Ok(()), |word| {
            let argument = word.map_or_else(|| "these arguments".to_owned(), written);
            Err(Why::Argument { program, argument })
        })
    }

    /// The word that is not harmless, `Some(None)` if it is the words together.
    fn refused<'a>(&self, words: &'a [Word]) -> Option<Option<&'a Word>> {
        match &self.reads {
            Reads::Always => None,
            Reads::Bare => words.first().map(Some),
            Reads::Exactly(lists) => {
                let same = |list: &[&str]| {
                    list.len() == words.len() && list.iter().zip(words).all(|(a, b)| b.literal() == Some(*a))
                };
                if lists.iter().any(|list| same(list)) { None } else { Some(words.first()) }
            }
            Reads::After(firsts) => match words.first().and_then(Word::literal) {
                Some(first) if firsts.contains(&first) => None,
                _ => Some(words.first()),
            },
            Reads::With(options) => options.judge(words).err().map(Some),
            Reads::Scripted(judge) => judge(words).err().map(Some),
            Reads::Git => git::judge(words).err(),
        }
    }
}

fn written(word: &Word) -> String {
    match word {
        Word::Literal(text) => shown(text),
        Word::Begins(_) => "a pattern that may become something else".to_owned(),
        Word::One(_) | Word::Anything => "a variable that may be anything".to_owned(),
    }
}

impl Options {
    /// `Err` with the word that is not harmless.
    pub(crate) fn judge<'a>(&self, words: &'a [Word]) -> Result<(), &'a Word> {
        let mut operands = 0_usize;
        let mut only_operands = false;
        let mut before: Option<&str> = None;
        for word in words {
            // What stands before it may take this word for its value: then a `--` ends nothing, and an option is none.
            let value = before.is_some_and(|before| self.takes_next(before));
            let perhaps_value =
                before.is_some_and(|before| before.starts_with("--") && !before.contains('='));
            before = word.literal().filter(|text| !only_operands && script::is_option(text));
            if value && word.literal().is_some_and(|text| !text.starts_with('-')) {
                continue;
            }
            let misread =
                value || perhaps_value && (self.operands != Operands::Any || word.literal() == Some("--"));
            if misread && before.is_some() {
                return Err(word);
            }
            let harmless = match word {
                Word::Literal(text) if !only_operands && text == "--" => {
                    only_operands = true;
                    continue;
                }
                Word::Literal(text) if !only_operands && script::is_option(text) => {
                    // Some systems take no options behind an operand: there it would be one operand more.
                    self.allows(text) && (operands == 0 || self.operands == Operands::Any)
                }
                Word::Literal(text) => {
                    operands += 1;
                    self.operand(text, operands)
                }
                Word::One(start) if only_operands || begins_operand(start) => {
                    operands += 1;
                    self.operand(start, operands)
                }
                Word::Begins(start) => {
                    self.operands == Operands::Any && (only_operands || begins_operand(start))
                }
                Word::Anything => self.operands == Operands::Any && only_operands,
                Word::One(_) => false,
            };
            if !harmless {
                return Err(word);
            }
        }
        Ok(())
    }

    fn operand(&self, text: &str, count: usize) -> bool {
        match self.operands {
            Operands::Any => true,
            Operands::AtMost(most) => count <= most,
            Operands::Beginning(first) => text.starts_with(first),
        }
    }

    /// Whether the next word is the value of this option.
    fn takes_next(&self, text: &str) -> bool {
        let first_valued = text.find(|c| self.valued.contains(c));
        !text.starts_with("--")
            && !self.words.contains(&text)
            && first_valued.is_some_and(|at| at + 1 == text.len())
    }

    /// Whether an option is one of these. Abbreviations are not.
    fn allows(&self, text: &str) -> bool {
        if self.words.contains(&text) {
            return true;
        }
        if text.starts_with("--") {
            let name = text.split_once('=').map_or(text, |(name, _)| name);
            return self.long.contains(&name);
        }
        for letter in text.chars().skip(1) {
            if self.valued.contains(letter) {
                return true;
            }
            if !self.flags.contains(letter) {
                return false;
            }
        }
        true
    }
}

/// Whether a word that begins with this, and goes on in a way that is not known, is an operand.
pub(crate) fn begins_operand(start: &str) -> bool {
    start.chars().next().is_some_and(|first| first.is_ascii_alphanumeric() || "./~_".contains(first))
}
