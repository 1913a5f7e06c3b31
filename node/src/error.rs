//! Failures as they cross into JavaScript: data, not thrown.

use std::collections::HashMap;
use std::error::Error as _;
use std::os::unix::ffi::OsStrExt;

use napi_derive::napi;
use turnback_engine::{Code, Error};

use crate::path::PathText;

/// A failed call. Its first field tells it from every successful answer.
#[napi(object, object_from_js = false)]
pub struct Failure {
    /// The stable code, for example `NOT_FOUND`.
    pub failure_code: String,
    /// One line: what was tried, the cause, what to do next.
    pub message: String,
    /// What to do next.
    pub advice: String,
    /// Whether the same call may succeed later.
    pub retryable: bool,
    /// The path concerned.
    pub path: Option<PathText>,
    /// More for programs, by name: for example the id of a checkpoint that helps.
    pub details: HashMap<String, String>,
    /// The chain of causes, outermost first.
    pub causes: Vec<String>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut causes = Vec::new();
        let mut source = error.source();
        while let Some(cause) = source {
            causes.push(cause.to_string());
            source = cause.source();
        }
        Self {
            failure_code: error.code().as_str().to_owned(),
            message: error.to_string(),
            advice: error.advice().to_owned(),
            retryable: error.code().retryable(),
            path: error.path().map(|path| PathText::from_bytes(path.as_os_str().as_bytes())),
            details: error
                .details()
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
            causes,
        }
    }
}

impl Failure {
    /// A failure of a pure function of `core`: its message already says what to do.
    pub(crate) fn of_policy(code: &str, message: &impl ToString) -> Self {
        Self {
            failure_code: code.to_owned(),
            message: message.to_string(),
            advice: String::new(),
            retryable: false,
            path: None,
            details: HashMap::new(),
            causes: Vec::new(),
        }
    }
}

/// What a panic becomes: the engine's state can no longer be trusted.
pub(crate) fn of_panic(payload: &(dyn std::any::Any + Send)) -> Error {
    let text = payload
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    Error::new(
        Code::Poisoned,
        format!("the engine stopped at an internal error: {text}"),
        "close this manager, open a new one, and report this message",
    )
}
