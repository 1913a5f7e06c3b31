//! Paths cross as bytes going in, and as text with the bytes beside it, where text alone would lie, coming out.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;
use turnback_engine::{Code, Error, RelPath, Result, escape};

/// A path for JavaScript.
#[napi(object, object_from_js = false)]
pub struct PathText {
    /// The path itself where it is valid UTF-8, otherwise escaped.
    pub text: String,
    /// The path's bytes, only where it is not valid UTF-8.
    pub bytes: Option<Uint8Array>,
}

impl PathText {
    /// The path whose bytes are `bytes`.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self { text: text.to_owned(), bytes: None },
            Err(_) => Self { text: escape(bytes), bytes: Some(Uint8Array::from(bytes)) },
        }
    }

    /// A path of the file system.
    pub(crate) fn from_path(path: &Path) -> Self {
        Self::from_bytes(path.as_os_str().as_bytes())
    }
}

/// An absolute path that JavaScript gave.
pub(crate) fn path_buf(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// A path relative to a workspace's root that JavaScript gave.
///
/// # Errors
/// `INVALID_ARGUMENT` for a path that could leave the root.
pub(crate) fn rel_path(bytes: &[u8]) -> Result<RelPath> {
    RelPath::parse(bytes).map_err(|cause| {
        Error::new(
            Code::InvalidArgument,
            "a path inside a checkpoint is not valid",
            "give it relative to the workspace, without `.`, `..`, doubled or trailing slashes",
        )
        .because(cause)
    })
}

/// Paths relative to a workspace's root that JavaScript gave.
///
/// # Errors
/// `INVALID_ARGUMENT` for a path that could leave the root.
pub(crate) fn rel_paths(paths: Option<&[Uint8Array]>) -> Result<Option<Vec<RelPath>>> {
    paths.map(|paths| paths.iter().map(|path| rel_path(path)).collect()).transpose()
}
