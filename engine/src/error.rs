//! The one error type of the engine: a stable code, what was tried, what to do next, and the cause.

use std::fmt;
use std::path::PathBuf;

/// Stable error codes. Their names are part of the public surface and never change meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The caller passed something that can never be right.
    InvalidArgument,
    /// No such checkpoint, path or directory.
    NotFound,
    /// The path exists and is not a directory.
    NotADirectory,
    /// The operating system refused access.
    PermissionDenied,
    /// This operating system has no native engine.
    UnsupportedPlatform,
    /// The file system lacks something that was asked for.
    UnsupportedFilesystem,
    /// The workspace's root is another directory than the one that was checkpointed (C5).
    WorkspaceReplaced,
    /// The checkpoint belongs to another workspace.
    WorkspaceMismatch,
    /// The workspace is too broad to be checkpointed by accident (C16).
    TooBroad,
    /// The store lies inside the workspace, or the workspace inside the store.
    StoreNested,
    /// The store's directory is not ours alone.
    StoreUnsafe,
    /// The store has a format that this version does not write.
    StoreFormat,
    /// The store's byte cap is reached.
    StoreFull,
    /// The file system has no space or no inodes left.
    DiskFull,
    /// Stored data is damaged.
    Corrupt,
    /// Another process or thread works on this workspace.
    Busy,
    /// The caller cancelled the operation.
    Aborted,
    /// The deadline passed.
    TimedOut,
    /// Any other failure of the operating system.
    Io,
    /// Paths conflict.
    Conflict,
    /// This checkpoint was not made by a rollback, or there is nothing to undo.
    NotUndoable,
    /// A sandbox that is what it is cannot become what was asked for (S3).
    IllegalTransition,
    /// A sandbox holds work that is nowhere else (S10).
    UnsavedWork,
    /// A git repository that sandboxes of strategy `git_worktree` do not work with (S8).
    GitUnsupported,
    /// An earlier failed write made this object unusable.
    Poisoned,
}

impl Code {
    /// The code as users see it, in upper snake case.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::NotFound => "NOT_FOUND",
            Self::NotADirectory => "NOT_A_DIRECTORY",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::UnsupportedPlatform => "UNSUPPORTED_PLATFORM",
            Self::UnsupportedFilesystem => "UNSUPPORTED_FILESYSTEM",
            Self::WorkspaceReplaced => "WORKSPACE_REPLACED",
            Self::WorkspaceMismatch => "WORKSPACE_MISMATCH",
            Self::TooBroad => "TOO_BROAD",
            Self::StoreNested => "STORE_NESTED",
            Self::StoreUnsafe => "STORE_UNSAFE",
            Self::StoreFormat => "STORE_FORMAT",
            Self::StoreFull => "STORE_FULL",
            Self::DiskFull => "DISK_FULL",
            Self::Corrupt => "CORRUPT",
            Self::Busy => "BUSY",
            Self::Aborted => "ABORTED",
            Self::TimedOut => "TIMED_OUT",
            Self::Io => "IO",
            Self::Conflict => "CONFLICT",
            Self::NotUndoable => "NOT_UNDOABLE",
            Self::IllegalTransition => "ILLEGAL_TRANSITION",
            Self::UnsavedWork => "UNSAVED_WORK",
            Self::GitUnsupported => "GIT_UNSUPPORTED",
            Self::Poisoned => "POISONED",
        }
    }

    /// Whether the same call may succeed later without anything being changed by the caller.
    #[must_use]
    pub const fn retryable(self) -> bool {
        matches!(self, Self::Busy | Self::TimedOut)
    }
}

/// A failed operation of the engine.
#[derive(Debug)]
pub struct Error {
    code: Code,
    tried: String,
    advice: String,
    path: Option<PathBuf>,
    details: Vec<(&'static str, String)>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// What an error says, for telling it more than once: the cause is kept as text.
#[derive(Debug)]
pub(crate) struct Told {
    code: Code,
    tried: String,
    advice: String,
    path: Option<PathBuf>,
    details: Vec<(&'static str, String)>,
    source: Option<String>,
}

impl Told {
    /// The error once more.
    pub(crate) fn again(&self) -> Error {
        Error {
            code: self.code,
            tried: self.tried.clone(),
            advice: self.advice.clone(),
            path: self.path.clone(),
            details: self.details.clone(),
            source: self.source.clone().map(Into::into),
        }
    }
}

/// The engine's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error with a code, what was tried or found (a sentence without a full stop) and what to do next.
    #[must_use]
    pub fn new(code: Code, tried: impl Into<String>, advice: impl Into<String>) -> Self {
        Self {
            code,
            tried: tried.into(),
            advice: advice.into(),
            path: None,
            details: Vec::new(),
            source: None,
        }
    }

    /// An operating system error, classified by its number.
    ///
    /// `tried` says what was being done, for example "opening the pack".
    #[must_use]
    pub fn io(tried: impl Into<String>, cause: impl Into<std::io::Error>) -> Self {
        let cause = cause.into();
        let (code, advice) = classify(&cause);
        Self {
            code,
            tried: tried.into(),
            advice: advice.into(),
            path: None,
            details: Vec::new(),
            source: Some(Box::new(cause)),
        }
    }

    /// Stored data that does not match its checksum or its format.
    #[must_use]
    pub fn corrupt(found: impl Into<String>) -> Self {
        Self::new(Code::Corrupt, found, "run `turnback verify` to see which checkpoints are concerned")
    }

    /// Names the path concerned.
    #[must_use]
    pub fn at(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Keeps the cause.
    #[must_use]
    pub fn because(mut self, cause: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(cause));
        self
    }

    /// What was tried or found and why, without what to do next: for lists, and where that would be to do what was just done.
    pub(crate) fn found(&self) -> String {
        let mut text = self.tried.clone();
        if let Some(path) = &self.path {
            use std::os::unix::ffi::OsStrExt;
            text.push_str(&format!(" ({})", crate::model::escape(path.as_os_str().as_bytes())));
        }
        if let Some(source) = &self.source {
            let inner = source.downcast_ref::<Self>().map_or_else(|| source.to_string(), Self::found);
            text.push_str(&format!(": {inner}"));
        }
        text
    }

    /// Says something else to do next.
    #[must_use]
    pub(crate) fn advised(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// What to do next, one sentence.
    #[must_use]
    pub fn advice(&self) -> &str {
        &self.advice
    }

    /// What it says.
    pub(crate) fn told(&self) -> Told {
        Told {
            code: self.code,
            tried: self.tried.clone(),
            advice: self.advice.clone(),
            path: self.path.clone(),
            details: self.details.clone(),
            source: self.source.as_ref().map(ToString::to_string),
        }
    }

    /// Adds a detail for programs, for example the id of a checkpoint that helps.
    #[must_use]
    pub fn with_detail(mut self, name: &'static str, value: String) -> Self {
        self.details.push((name, value));
        self
    }

    /// Whether a journal is there by which the next writing call goes on (C8).
    pub(crate) fn is_pending(&self) -> bool {
        self.details().iter().any(|(name, value)| *name == "pending" && value == "true")
    }

    /// Details for programs, by name.
    #[must_use]
    pub fn details(&self) -> &[(&'static str, String)] {
        &self.details
    }

    /// The path concerned, where there is one.
    #[must_use]
    pub fn path(&self) -> Option<&std::path::Path> {
        self.path.as_deref()
    }
}

fn classify(cause: &std::io::Error) -> (Code, &'static str) {
    use rustix::io::Errno;
    let errno = cause.raw_os_error().map(Errno::from_raw_os_error);
    match errno {
        Some(Errno::NOENT) => (Code::NotFound, "check the path"),
        Some(Errno::NOTDIR) => (Code::NotADirectory, "check the path"),
        Some(Errno::ACCESS | Errno::PERM) => {
            (Code::PermissionDenied, "run as the owner of the path, or change its permissions")
        }
        Some(Errno::NOSPC | Errno::DQUOT) => (Code::DiskFull, "free some space, or delete checkpoints"),
        Some(Errno::MFILE | Errno::NFILE) => (Code::Io, "raise the limit of open files (ulimit -n)"),
        Some(Errno::FBIG) => (Code::Io, "raise the limit of file sizes (ulimit -f)"),
        Some(Errno::ROFS) => (Code::PermissionDenied, "the file system is mounted read-only"),
        _ => (Code::Io, "see the cause"),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tried)?;
        if let Some(path) = &self.path {
            use std::os::unix::ffi::OsStrExt;
            write!(f, " ({})", crate::model::escape(path.as_os_str().as_bytes()))?;
        }
        if let Some(source) = &self.source {
            write!(f, ": {source}")?;
        }
        write!(f, "; {}", self.advice)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|s| s as &(dyn std::error::Error + 'static))
    }
}
