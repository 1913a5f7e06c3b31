//! What the caller leaves out: patterns in gitignore syntax, ignored files, files over a limit.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::error::{Code, Error, Result};
use crate::model::{Hash, RelPath};

/// What a walk leaves out.
#[derive(Debug, Clone)]
pub struct Rules {
    patterns: Vec<String>,
    matcher: Option<Arc<Gitignore>>,
    /// Leave out what `.gitignore` files say; git's configuration is never read (C4).
    pub ignored: bool,
    /// The largest file that is kept, in bytes.
    pub max_file_bytes: Option<u64>,
}

impl Rules {
    /// Checks patterns and makes rules of them.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a pattern that is no gitignore pattern.
    pub fn new(patterns: &[String], ignored: bool, max_file_bytes: Option<u64>) -> Result<Self> {
        let matcher = if patterns.is_empty() {
            None
        } else {
            let mut builder = GitignoreBuilder::new("");
            for pattern in patterns {
                builder.add_line(None, pattern).map_err(|e| bad_pattern(pattern, e))?;
            }
            Some(Arc::new(builder.build().map_err(|e| bad_pattern("", e))?))
        };
        Ok(Self { patterns: patterns.to_vec(), matcher, ignored, max_file_bytes })
    }

    /// The patterns, as given.
    #[must_use]
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Whether nothing is ever left out by name.
    #[must_use]
    pub fn keeps_every_name(&self) -> bool {
        self.matcher.is_none() && !self.ignored
    }

    /// Identifies the rules: walks under other rules have a stat cache of their own.
    #[must_use]
    pub fn fingerprint(&self) -> Hash {
        let text = format!("{:?} {} {:?}", self.patterns, self.ignored, self.max_file_bytes);
        Hash::of(text.as_bytes())
    }

    /// Whether the caller's patterns leave a path out.
    #[must_use]
    pub fn excludes(&self, path: &RelPath, is_directory: bool) -> bool {
        self.matcher.as_ref().is_some_and(|m| m.matched(as_path(path.as_bytes()), is_directory).is_ignore())
    }
}

fn bad_pattern(pattern: &str, cause: ignore::Error) -> Error {
    Error::new(
        Code::InvalidArgument,
        format!("`{}` is not a pattern", crate::model::escape(pattern.as_bytes())),
        "use the syntax of .gitignore files",
    )
    .because(cause)
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// The ignore files from the root down to one directory.
#[derive(Debug, Clone, Default)]
pub(super) struct IgnoreChain(Option<Arc<Link>>);

#[derive(Debug)]
struct Link {
    matcher: Gitignore,
    directory: RelPath,
    parent: IgnoreChain,
    fingerprint: u64,
}

impl IgnoreChain {
    /// The chain with one more ignore file that lies in `directory`.
    ///
    /// Lines that are no patterns are skipped, as git does.
    pub(super) fn with(&self, directory: &RelPath, text: &[u8]) -> Self {
        let mut builder = GitignoreBuilder::new("");
        for line in text.split(|&b| b == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if let Err(error) = builder.add_line(None, &String::from_utf8_lossy(line)) {
                tracing::debug!(%error, directory = %directory, "a line of an ignore file is no pattern");
            }
        }
        let matcher = builder.build().unwrap_or_else(|_| Gitignore::empty());
        let mut seed = blake3::Hasher::new();
        seed.update(&self.fingerprint().to_le_bytes());
        seed.update(directory.as_bytes());
        seed.update(text);
        let mut first = [0; 8];
        first.copy_from_slice(&seed.finalize().as_bytes()[..8]);
        Self(Some(Arc::new(Link {
            matcher,
            directory: directory.clone(),
            parent: self.clone(),
            fingerprint: u64::from_le_bytes(first),
        })))
    }

    /// Changes whenever the text of any ignore file in the chain changes; 0 for none.
    pub(super) fn fingerprint(&self) -> u64 {
        self.0.as_ref().map_or(0, |link| link.fingerprint)
    }

    /// Whether a path is ignored: the deepest ignore file that says something about it decides.
    pub(super) fn ignores(&self, path: &RelPath, is_directory: bool) -> bool {
        let mut chain = self;
        while let Some(link) = &chain.0 {
            let from = if link.directory.is_root() { 0 } else { link.directory.as_bytes().len() + 1 };
            let relative = path.as_bytes().get(from..).unwrap_or_default();
            let verdict = link.matcher.matched(as_path(relative), is_directory);
            if !verdict.is_none() {
                return verdict.is_ignore();
            }
            chain = &link.parent;
        }
        false
    }
}
