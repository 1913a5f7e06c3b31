/// Why a command is not proven to only read. Displayed, it is one sentence that begins with what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// There is no command in it.
    #[error("there is no command in it")]
    Empty,
    /// It is longer than [`MAX_COMMAND_BYTES`](crate::MAX_COMMAND_BYTES).
    #[error("its {bytes} bytes are more than are judged")]
    TooLong {
        /// Its length, in bytes.
        bytes: usize,
    },
    /// It is written with something that shells read in different ways, or that runs or sets something.
    #[error("it has {what}")]
    Written {
        /// What it has.
        what: &'static str,
    },
    /// The parser does not understand it.
    #[error("it is no shell command that can be parsed")]
    Unparsed,
    /// A construct that is never taken for harmless.
    #[error("it has {what}")]
    Construct {
        /// What it has.
        what: &'static str,
    },
    /// A redirection to or from something that is not known to be harmless.
    #[error(
        "it redirects to or from something else than a terminal's streams, /dev/null or a named file to read"
    )]
    Redirection,
    /// The name of the program is only known when it runs.
    #[error("the name of a program in it is only known when it runs")]
    UnknownName,
    /// The program is not in the table of programs that only read.
    #[error("{program} is not known to only read")]
    Program {
        /// Its name as it was written, shortened.
        program: String,
    },
    /// The program is in the table, but not with this argument.
    #[error("{program} is not known to only read with {argument}")]
    Argument {
        /// Its name.
        program: &'static str,
        /// The argument, shortened; a word that is only known when it runs stands as it was written.
        argument: String,
    },
}

/// The start of `text`, for an error.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 40;
    if text.chars().count() <= MOST {
        return format!("{text:?}");
    }
    format!("{:?}…", text.chars().take(MOST).collect::<String>())
}
