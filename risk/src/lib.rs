//! The proof that a shell command only reads (G14): such a command needs no checkpoint.
//!
//! A command is read-only when every part of it is proven to be: the characters it is written with, its grammar, each
//! program and each of that program's arguments. Everything else counts as destructive, with the reason. A wrong
//! `Destructive` costs a checkpoint; a wrong `ReadOnly` would cost somebody's files, so each doubt goes one way.
//!
//! What is taken for granted: the shell is `sh`, `dash`, `bash` or `zsh`, names mean the usual programs (no `ls` of one's own first
//! on the `PATH`, no shell function over it), and the environment does not make a reader into a writer (`RIPGREP_CONFIG_PATH`
//! with `--pre`, `LD_PRELOAD`). A command that sets any of that up is destructive itself.

mod argument;
mod git;
mod nested;
mod screen;
mod script;
mod table;
mod walk;
mod why;
mod word;

pub use screen::{MAX_COMMAND_BYTES, MAX_SUBSHELL_DEPTH};
pub use why::Why;

/// What [`is_read_only`] says about a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every part of it is proven to only read.
    ReadOnly,
    /// Something in it is not proven to only read.
    Destructive {
        /// The first thing that is not.
        why: Why,
    },
}

impl Verdict {
    /// Whether the command is proven to only read.
    pub const fn is_read_only(&self) -> bool {
        matches!(self, Self::ReadOnly)
    }
}

/// Judges one command line, as it would be given to `sh -c` (G14). It never panics, and its time is bounded by
/// [`MAX_COMMAND_BYTES`].
pub fn is_read_only(command: &str) -> Verdict {
    match screen::screen(command).and_then(|()| walk::program(command)) {
        Ok(()) => Verdict::ReadOnly,
        Err(why) => Verdict::Destructive { why },
    }
}
