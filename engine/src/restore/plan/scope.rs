//! Which paths a rollback is about: everything, or some paths with what is beneath them (C8).

use crate::error::{Code, Error, Result};
use crate::model::RelPath;

/// The scope of one directory.
#[derive(Debug, Clone)]
pub(super) enum Scope<'a> {
    /// Everything beneath.
    Inside,
    /// Only these paths beneath, each with the number of the asked-for path that it is the rest of.
    Partial(Vec<(usize, &'a [u8])>),
}

/// The asked-for paths, and which of them were met.
#[derive(Debug)]
pub(super) struct Asked {
    paths: Option<Vec<RelPath>>,
    met: Vec<bool>,
}

impl Asked {
    /// Sorts the paths; one beneath another says nothing new.
    pub(super) fn new(paths: Option<&[RelPath]>) -> Self {
        let paths = paths.map(|paths| {
            let mut sorted: Vec<RelPath> = paths.to_vec();
            sorted.sort_by_key(|p| p.as_bytes().len());
            let mut kept: Vec<RelPath> = Vec::new();
            for path in sorted {
                if !kept.iter().any(|k| path.starts_with(k)) {
                    kept.push(path);
                }
            }
            kept
        });
        let met = vec![false; paths.as_ref().map_or(0, Vec::len)];
        Self { paths, met }
    }

    /// The paths; `None` for everything.
    pub(super) fn paths(&self) -> Option<&[RelPath]> {
        self.paths.as_deref()
    }

    /// The path with a number.
    pub(super) fn path(&self, number: usize) -> Option<&RelPath> {
        self.paths.as_ref()?.get(number)
    }

    /// Notes that a path was met in one of the pictures, or that it lies where neither can tell.
    pub(super) fn meet(&mut self, number: usize) {
        if let Some(met) = self.met.get_mut(number) {
            *met = true;
        }
    }

    /// Every path must have been met.
    pub(super) fn check(&self) -> Result<()> {
        let missing = self.met.iter().position(|met| !met).and_then(|number| self.path(number));
        match missing {
            None => Ok(()),
            Some(path) => Err(Error::new(
                Code::NotFound,
                format!("neither the checkpoint nor the workspace has the path `{path}`"),
                "give a path relative to the workspace, as `diff` lists it",
            )),
        }
    }
}

/// The scope of a whole workspace.
pub(super) fn root_scope(paths: Option<&[RelPath]>) -> Scope<'_> {
    match paths {
        None => Scope::Inside,
        Some(paths) if paths.iter().any(RelPath::is_root) => Scope::Inside,
        Some(paths) => Scope::Partial(paths.iter().map(RelPath::as_bytes).enumerate().collect()),
    }
}

impl<'a> Scope<'a> {
    /// The scope of a name in this directory, and the asked-for paths that end there; `None` when it is out of scope.
    pub(super) fn child(&self, name: &[u8]) -> Option<(Self, Vec<usize>)> {
        let Self::Partial(rests) = self else { return Some((Self::Inside, Vec::new())) };
        let mut inner = Vec::new();
        let mut ended = Vec::new();
        for &(number, rest) in rests {
            match rest.strip_prefix(name) {
                Some([]) => ended.push(number),
                Some([b'/', rest @ ..]) => inner.push((number, rest)),
                _ => {}
            }
        }
        if !ended.is_empty() {
            Some((Self::Inside, ended))
        } else if inner.is_empty() {
            None
        } else {
            Some((Self::Partial(inner), ended))
        }
    }

    /// The numbers of the paths that lie further down.
    pub(super) fn below(&self) -> Vec<usize> {
        match self {
            Self::Inside => Vec::new(),
            Self::Partial(rests) => rests.iter().map(|(number, _)| *number).collect(),
        }
    }

    /// Whether everything here and beneath is meant.
    pub(super) const fn is_inside(&self) -> bool {
        matches!(self, Self::Inside)
    }
}
