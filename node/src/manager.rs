//! The engine's manager for JavaScript. Every method hands its work to the manager's own threads at once.

use napi::Env;
use napi::bindgen_prelude::{Object, Undefined};
use napi_derive::napi;
use tracing::Dispatch;
use tracing::dispatcher::with_default;
use turnback_engine::{Context, LostMark, Manager, Result, Sandboxes};

use crate::convert::{
    NativeCheckpoint, NativeListing, NativeUsageReport, NativeVerifyReport, bytes, changes, uncovered,
};
use crate::events::EventQueue;
use crate::job::{Control, Ticket, context, refuse, run, run_alone};
use crate::path::{PathText, path_buf, rel_path};
use crate::recovery::NativeCreated;
use crate::request::{NativeCreateRequest, NativeOpenOptions, checkpoint_id, diff_to, sandbox_id};

/// One open store.
#[napi]
pub struct NativeManager {
    pub(crate) manager: Manager,
}

/// Opens a store, which is made where there is none. What happens in it goes to `events`.
///
/// # Errors
/// A napi error when no promise can be made.
#[napi(catch_unwind, ts_return_type = "Promise<NativeManager | Failure>")]
pub fn open_manager<'env>(
    env: &'env Env,
    options: NativeOpenOptions,
    events: Option<&EventQueue>,
) -> napi::Result<Object<'env>> {
    let options = options.parse();
    let subscriber = events.map_or_else(Dispatch::none, EventQueue::subscriber);
    run_alone(env, move || {
        with_default(&subscriber, || Ok(NativeManager { manager: Manager::open(options?)? }))
    })
}

/// What a long call needs, checked: its context and its own request.
pub(crate) fn checked<T>(
    ticket: &Ticket,
    control: &Control<'_>,
    request: Result<T>,
) -> napi::Result<Result<(T, Context)>> {
    let context = context(ticket, control)?;
    Ok(request.and_then(|request| Ok((request, context?))))
}

#[napi]
impl NativeManager {
    /// The store's directory.
    #[napi(getter, catch_unwind)]
    pub fn store_path(&self) -> PathText {
        PathText::from_path(self.manager.store_path())
    }

    /// Takes a checkpoint, after an interrupted restore of the directory was finished.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeCreated | Failure>")]
    pub fn create<'env>(
        &self,
        env: &'env Env,
        request: NativeCreateRequest,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        let directory = path_buf(&request.directory);
        match checked(ticket, &control, request.parse())? {
            Err(error) => refuse(env, error),
            Ok((request, mut ctx)) => {
                let early = ticket.hear(&mut ctx);
                run(env, &self.manager, move |manager| {
                    // Where that cannot be told, the checkpoint itself says why.
                    let recovered = match manager.is_pending(&directory) {
                        Ok(true) => manager.recover(&directory, &ctx)?,
                        _ => None,
                    };
                    early.recovered(recovered.clone());
                    let checkpoint = manager.create(&directory, request, &ctx);
                    let checkpoint = checkpoint.map_err(|error| match &recovered {
                        Some(report) => error.with_detail("recovered", report.outcome.as_str().to_owned()),
                        None => error,
                    })?;
                    NativeCreated::new(&checkpoint, recovered.as_ref())
                })
            }
        }
    }

    /// Lists checkpoints, oldest first.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeListing | Failure>")]
    pub fn list<'env>(&self, env: &'env Env, sandbox: Option<String>) -> napi::Result<Object<'env>> {
        match sandbox.map(|id| sandbox_id(&id)).transpose() {
            Err(error) => refuse(env, error),
            Ok(sandbox) => run(env, &self.manager, move |manager| {
                NativeListing::try_from(&manager.list(sandbox.as_ref())?)
            }),
        }
    }

    /// The stable id of a plain directory.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Failure>")]
    pub fn sandbox_id_of<'env>(&self, env: &'env Env, directory: &[u8]) -> napi::Result<Object<'env>> {
        let directory = path_buf(directory);
        run(env, &self.manager, move |manager| Ok(manager.sandbox_id_of(&directory)?.to_string()))
    }

    /// One checkpoint's record.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeCheckpoint | null | Failure>")]
    pub fn get<'env>(&self, env: &'env Env, id: String) -> napi::Result<Object<'env>> {
        match checkpoint_id(&id) {
            Err(error) => refuse(env, error),
            Ok(id) => run(env, &self.manager, move |manager| {
                manager.get(id)?.as_ref().map(NativeCheckpoint::try_from).transpose()
            }),
        }
    }

    /// Deletes a checkpoint; `false` when there is none of that id.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean | Failure>")]
    pub fn delete<'env>(&self, env: &'env Env, id: String) -> napi::Result<Object<'env>> {
        match checkpoint_id(&id) {
            Err(error) => refuse(env, error),
            Ok(id) => run(env, &self.manager, move |manager| manager.delete(id)),
        }
    }

    /// Deletes several checkpoints: all of them, or none when one of them cannot go.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<string> | Failure>")]
    pub fn delete_all<'env>(&self, env: &'env Env, ids: Vec<String>) -> napi::Result<Object<'env>> {
        match ids.iter().map(|id| checkpoint_id(id)).collect::<Result<Vec<_>>>() {
            Err(error) => refuse(env, error),
            Ok(ids) => run(env, &self.manager, move |manager| {
                Ok(manager.delete_all(&ids)?.iter().map(ToString::to_string).collect::<Vec<_>>())
            }),
        }
    }

    /// Every path that a checkpoint does not cover.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<NativeUncovered> | Failure>")]
    pub fn coverage<'env>(&self, env: &'env Env, id: String) -> napi::Result<Object<'env>> {
        match checkpoint_id(&id) {
            Err(error) => refuse(env, error),
            Ok(id) => run(env, &self.manager, move |manager| Ok(uncovered(&manager.coverage(id)?))),
        }
    }

    /// What differs between a checkpoint and another one, or the workspace now.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<Array<NativeChange> | Failure>")]
    pub fn diff<'env>(
        &self,
        env: &'env Env,
        from: String,
        to: Option<String>,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        let sides = checkpoint_id(&from).and_then(|from| Ok((from, diff_to(to.as_deref())?)));
        match checked(ticket, &control, sides)? {
            Err(error) => refuse(env, error),
            Ok(((from, to), ctx)) => {
                run(env, &self.manager, move |manager| changes(&manager.diff(from, to, &ctx)?))
            }
        }
    }

    /// A file's bytes as they were.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<Uint8Array | Failure>")]
    pub fn read_file<'env>(&self, env: &'env Env, id: String, path: &[u8]) -> napi::Result<Object<'env>> {
        match rel_path(path).and_then(|path| Ok((checkpoint_id(&id)?, path))) {
            Err(error) => refuse(env, error),
            Ok((id, path)) => {
                run(env, &self.manager, move |manager| Ok(bytes(manager.read_file(id, &path)?)))
            }
        }
    }

    /// Writes a checkpoint into a directory as plain files.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Failure>")]
    pub fn export<'env>(
        &self,
        env: &'env Env,
        id: String,
        directory: &[u8],
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        let directory = path_buf(directory);
        match checked(ticket, &control, checkpoint_id(&id))? {
            Err(error) => refuse(env, error),
            Ok((id, ctx)) => {
                run::<Undefined, _>(env, &self.manager, move |manager| manager.export(id, &directory, &ctx))
            }
        }
    }

    /// Reads one checkpoint, or all of them, and compares with the checksums.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeVerifyReport | Failure>")]
    pub fn verify<'env>(
        &self,
        env: &'env Env,
        id: Option<String>,
        ticket: &Ticket,
        control: Control<'_>,
    ) -> napi::Result<Object<'env>> {
        match checked(ticket, &control, id.map(|id| checkpoint_id(&id)).transpose())? {
            Err(error) => refuse(env, error),
            Ok((id, ctx)) => run(env, &self.manager, move |manager| {
                NativeVerifyReport::try_from(&manager.verify(id, &ctx)?)
            }),
        }
    }

    /// What the store holds.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeUsageReport | Failure>")]
    pub fn usage<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        run(env, &self.manager, move |manager| NativeUsageReport::try_from(&manager.usage()?))
    }

    /// Sets or removes a label. Answers `pin` when label and pin were damaged, so that it counts as pinned now.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null | Failure>")]
    pub fn set_label<'env>(
        &self,
        env: &'env Env,
        id: String,
        label: Option<String>,
    ) -> napi::Result<Object<'env>> {
        match checkpoint_id(&id) {
            Err(error) => refuse(env, error),
            Ok(id) => {
                run(env, &self.manager, move |manager| Ok(manager.set_label(id, label.as_deref())?.map(lost)))
            }
        }
    }

    /// Keeps a checkpoint from pruning, or no longer. Answers `label` when label and pin were damaged, so that it has no label now.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<string | null | Failure>")]
    pub fn set_pinned<'env>(&self, env: &'env Env, id: String, pinned: bool) -> napi::Result<Object<'env>> {
        match checkpoint_id(&id) {
            Err(error) => refuse(env, error),
            Ok(id) => run(env, &self.manager, move |manager| Ok(manager.set_pinned(id, pinned)?.map(lost))),
        }
    }

    /// Switches the guard's checkpoints off for the store.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Failure>")]
    pub fn pause<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        run::<Undefined, _>(env, &self.manager, Manager::pause)
    }

    /// Switches them on again.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Failure>")]
    pub fn resume<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        run::<Undefined, _>(env, &self.manager, Manager::resume)
    }

    /// Whether they are switched off. Looked at by a thread of the manager's: the store's file system may hang.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean | Failure>")]
    pub fn is_paused<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        run(env, &self.manager, Manager::is_paused)
    }

    /// Closes the store; the sandboxes of an ephemeral one go with it. May be called again.
    ///
    /// # Errors
    /// A napi error when no promise can be made.
    #[napi(catch_unwind, ts_return_type = "Promise<undefined | Failure>")]
    pub fn close<'env>(&self, env: &'env Env) -> napi::Result<Object<'env>> {
        let manager = self.manager.clone();
        run_alone::<Undefined, _>(env, move || {
            let ended = Sandboxes::new(&manager).end_ephemeral();
            manager.close().and(ended)
        })
    }
}

fn lost(mark: LostMark) -> String {
    match mark {
        LostMark::Label => "label",
        LostMark::Pin => "pin",
    }
    .to_owned()
}
