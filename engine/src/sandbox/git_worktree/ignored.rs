//! What a repository's ignore files leave out: those in its directories and its own `info/exclude`. The user's own list is not read.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::io::Errno;

use super::files;
use super::repository::Repository;
use crate::error::{Error, Result};
use crate::model::RelPath;
use crate::restore::Root;

/// The longest ignore file that is read, in bytes.
const MAX_LENGTH: u64 = 16 << 20;

/// The ignore files of one tree of files.
pub(super) struct Ignored<'a> {
    root: &'a Root,
    exclude: Gitignore,
    known: RefCell<HashMap<RelPath, Option<Rc<Gitignore>>>>,
}

impl<'a> Ignored<'a> {
    /// Those of the files beneath `root`, with the repository's own list.
    pub(super) fn new(repository: &Repository, root: &'a Root) -> Result<Self> {
        let info = files::dir_at(repository.common.top(), b"info");
        let info = info.map_err(|e| Error::io("opening the repository's `info`", e))?;
        let text = match info {
            Some(info) => files::read(&info, "exclude")?.unwrap_or_default(),
            None => Vec::new(),
        };
        Ok(Self { root, exclude: rules(&text), known: RefCell::default() })
    }

    /// Whether a path is left out, or a directory that it lies in.
    pub(super) fn has(&self, path: &RelPath, is_directory: bool) -> Result<bool> {
        let mut parent = RelPath::root();
        let names: Vec<&[u8]> = path.names().collect();
        for (i, name) in names.iter().enumerate() {
            let at = parent.join(name);
            if self.matches(&at, is_directory || i + 1 < names.len())? {
                return Ok(true);
            }
            parent = at;
        }
        Ok(false)
    }

    /// The nearest ignore file that says anything decides.
    fn matches(&self, path: &RelPath, is_directory: bool) -> Result<bool> {
        let mut at = path.split().map(|(parent, _)| parent);
        while let Some(directory) = at {
            if let Some(rules) = self.of(&directory)? {
                let skip = if directory.is_root() { 0 } else { directory.as_bytes().len() + 1 };
                let relative = path.as_bytes().get(skip..).unwrap_or_default();
                match rules.matched(Path::new(OsStr::from_bytes(relative)), is_directory) {
                    Match::Ignore(_) => return Ok(true),
                    Match::Whitelist(_) => return Ok(false),
                    Match::None => {}
                }
            }
            at = directory.split().map(|(parent, _)| parent);
        }
        Ok(self.exclude.matched(Path::new(OsStr::from_bytes(path.as_bytes())), is_directory).is_ignore())
    }

    fn of(&self, directory: &RelPath) -> Result<Option<Rc<Gitignore>>> {
        if let Some(known) = self.known.borrow().get(directory) {
            return Ok(known.clone());
        }
        let read = self.root.dir(directory).and_then(|dir| files::read_raw(&dir, b".gitignore", MAX_LENGTH));
        let found = match read {
            Ok(text) => Some(Rc::new(rules(&text))),
            // Git follows no links here either.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::INVAL) => None,
            // Guessing what is ignored would silently change what is committed (F56).
            Err(errno) => return Err(Error::io(format!("reading the ignore file of `{directory}`"), errno)),
        };
        self.known.borrow_mut().insert(directory.clone(), found.clone());
        Ok(found)
    }
}

fn rules(text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for line in text.split(|&b| b == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if let Err(error) = builder.add_line(None, &String::from_utf8_lossy(line)) {
            tracing::debug!(%error, "a line of an ignore file is no pattern");
        }
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
