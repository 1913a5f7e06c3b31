//! What a checkpoint's promise will be resolved with, for a caller who cannot wait for it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use turnback_engine::{Checkpoint, RecoveryReport, Result};

use crate::recovery::NativeCreated;

/// An answer as far as it is known, shared by the worker that gives it and the caller.
#[derive(Clone, Default)]
pub(crate) struct Early(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    recovered: Option<RecoveryReport>,
    checkpoint: Option<Checkpoint>,
}

impl Early {
    /// An interrupted restore of the workspace was finished first.
    pub(crate) fn recovered(&self, report: Option<RecoveryReport>) {
        self.known().recovered = report;
    }

    /// The checkpoint is there.
    pub(crate) fn checkpoint(&self, checkpoint: &Checkpoint) {
        self.known().checkpoint = Some(checkpoint.clone());
    }

    /// The answer, if there is one already.
    pub(crate) fn get(&self) -> Option<Result<NativeCreated>> {
        let known = self.known();
        let checkpoint = known.checkpoint.as_ref()?;
        Some(NativeCreated::new(checkpoint, known.recovered.as_ref()))
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
