use super::ids::BatchId;

/// Why the gate refused an input. Nothing changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// A batch came under the number of one that still waits: the two verdicts could not be told apart.
    #[error("{batch} is already waiting for its verdict: give each batch a number of its own")]
    BatchInUse {
        /// The number.
        batch: BatchId,
    },
}

impl GateError {
    /// The stable code of this error.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BatchInUse { .. } => "INVALID_ARGUMENT",
        }
    }
}
