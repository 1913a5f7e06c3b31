import { addon } from './addon.js';
import { flag, options } from './check.js';
import { beginDeletion, noteDeletion, watchRemovals } from './deletions.js';
import { noteEarly } from './early.js';
import { unwrap } from './failure.js';
import { afterCheckpoint } from './given-up.js';
import { safely } from './log.js';
import { eventsTo } from './native-events.js';
import { idIn, traceMethod } from './observe.js';
import {
  BOUNDED,
  CREATE,
  checkpointId,
  checkpointIds,
  LONG,
  label,
  metadata,
  nameId,
  OPEN,
  PRUNE,
  phase,
} from './options.js';
import { absolute, type Path, pathBytes } from './paths.js';
import * as records from './records.js';
import * as restoring from './restoring.js';
import { target as checkedTarget, type SandboxOrPath } from './sandbox/target.js';
import { OpenStore, ownStore } from './store.js';
import type {
  Bounded,
  Change,
  CreatedCheckpoint,
  CreateOptions,
  DamagedCheckpoint,
  ListedCheckpoint,
  Long,
  OpenOptions,
  PendingRestore,
  Phase,
  PruneReport,
  PruneRules,
  RecoveryReport,
  RevertOptions,
  RollbackOptions,
  RollbackReport,
  SandboxCheckpoint,
  Uncovered,
  UsageReport,
  VerifyReport,
} from './types.js';

const UNCHANGED = 'nothing was changed';
const SOME_MAY_BE_GONE = 'some checkpoints may be gone already: listCheckpoints() gives those that are left';

/**
 * One store of checkpoints. All calls are asynchronous and run on threads of the manager's own; calls on different
 * workspaces do not wait for each other (C10).
 *
 * Opening: {@link CheckpointManager.open}. Making: `createCheckpoint`. Looking: `listCheckpoints`, `getCheckpoint`,
 * `coverage`, `diff`, `readFile`, `export`, `verify`, `usage`. Restoring: `rollbackTo`, `undo`, `revert`; `pending`, `recover`,
 * `abandon` after an interruption. Keeping: `label`, `pin`,
 * `prune`, `deleteCheckpoint`. Ending: `close`, or `await using`.
 *
 * Every call rejects with a {@link TurnbackError}: `INVALID_ARGUMENT` for arguments that can never be right, `NOT_FOUND` for an
 * id that no checkpoint has, `POISONED` once the manager is closed, and the codes that each one names.
 */
export class CheckpointManager implements AsyncDisposable {
  readonly #store: OpenStore;

  private constructor(store: OpenStore) {
    this.#store = store;
    ownStore(this, store);
  }

  /**
   * Opens a store, which is made where there is none.
   *
   * @throws TurnbackError `STORE_UNSAFE`, `STORE_FORMAT`, `PERMISSION_DENIED`, `DISK_FULL`; `UNSUPPORTED_PLATFORM` and
   *   `NATIVE_BINARY_MISSING` where there is no engine
   */
  static async open(openOptions?: OpenOptions): Promise<CheckpointManager> {
    const { store, durability, strict, maxBytes, onFull, logger, logLevel } = options('options', OPEN, openOptions);
    const engine = addon();
    watchRemovals(engine);
    const log = safely(logger);
    // The engine is asked for nothing that nobody hears.
    const events = logger === undefined ? undefined : eventsTo(engine, log, logLevel ?? 'warn');
    const native = unwrap(
      await engine.openManager(
        {
          ...(store === undefined || store === 'ephemeral' ? {} : { store }),
          ephemeral: store === 'ephemeral',
          ...(durability === undefined ? {} : { powerDurability: durability === 'power' }),
          strict: strict ?? false,
          ...(maxBytes === undefined ? {} : { maxBytes }),
          failWhenFull: onFull === 'fail',
        },
        events?.queue,
      ),
    );
    const opened = new OpenStore(native, log, events?.deliver, store === 'ephemeral');
    opened.log.debug({ store: opened.path }, 'store opened');
    return new CheckpointManager(opened);
  }

  /** The store's directory. */
  get storePath(): string {
    return this.#store.path;
  }

  /**
   * Takes a checkpoint of a directory or a sandbox as it is now (C3, C4). The directory is only read, save that a restore of it that was interrupted
   * is finished first (C8): the record then says so in `recovered`.
   *
   * @param target the sandbox or the directory; a relative path is resolved at this call, by the working directory
   * @param meta its metadata: at most 64 keys of 1 to 128 bytes, values of at most 4 KiB
   * @throws TurnbackError `NOT_A_DIRECTORY`, `PERMISSION_DENIED`, `TOO_BROAD`, `STORE_NESTED`, `STORE_FULL`, `DISK_FULL`,
   *   `BUSY`, `ABORTED`, `TIMED_OUT`; `WORKSPACE_REPLACED` when a link stands where a sandbox's root was: it is not followed. A link
   *   that is given as a directory is
   */
  async createCheckpoint(
    target: SandboxOrPath,
    planId: string,
    atPhase: Phase,
    meta?: Readonly<Record<string, string>>,
    createOptions?: CreateOptions,
  ): Promise<CreatedCheckpoint> {
    const named = {
      ...checkedTarget('target', target),
      planId: nameId('planId', planId),
      phase: phase('phase', atPhase),
      metadata: metadata('metadata', meta),
    };
    const given = options('options', CREATE, createOptions);
    const request = {
      ...named,
      ...(given.label === undefined ? {} : { label: given.label }),
      exclude: given.exclude ?? [],
      excludeIgnored: given.excludeIgnored ?? false,
      ...(given.maxFileBytes === undefined ? {} : { maxFileBytes: given.maxFileBytes }),
      ...(given.maxFiles === undefined ? {} : { maxFiles: given.maxFiles }),
      allowBroad: given.allowBroad ?? false,
    };
    const created = await this.#store.long('the checkpoint', afterCheckpoint, given, {
      start: (ticket, control) => this.#store.native.create(request, ticket, control),
      takeBack: async ({ checkpoint }) => {
        unwrap(await this.#store.native.delete(checkpoint.checkpointId));
      },
      early: (ticket) => ticket.created(),
      onRunning: (take) => noteEarly(given.signal, take),
    });
    const record = records.created(created);
    const { checkpointId: id, coverage, recovered } = record;
    restoring.tellRecovered(this.#store.log, recovered);
    this.#store.log.info(
      { checkpointId: id, files: coverage.files, complete: coverage.complete },
      'checkpoint created',
    );
    return record;
  }

  /**
   * Makes the checkpoint's workspace equal to the checkpoint again (C7). The state before is checkpointed first, so that
   * this can be undone (C8).
   *
   * @param checkpoint its record or its id. A record must be the store's own: another workspace or sandbox in it is refused
   * @throws TurnbackError `WORKSPACE_MISMATCH`, `WORKSPACE_REPLACED`, `CORRUPT`, `DISK_FULL`, `BUSY`, `ABORTED`, `TIMED_OUT`
   */
  async rollbackTo(checkpoint: SandboxCheckpoint | string, rollbackOptions?: RollbackOptions): Promise<RollbackReport> {
    return await restoring.rollbackTo(this.#store, checkpoint, rollbackOptions);
  }

  /**
   * Takes a rollback back: the workspace becomes what it was before it.
   *
   * @param rollback the rollback's report, or its `undoCheckpointId`
   * @throws TurnbackError `NOT_UNDOABLE` when the rollback took no checkpoint, or the id is of a checkpoint that no rollback made
   */
  async undo(rollback: RollbackReport | string, undoOptions?: Bounded): Promise<RollbackReport> {
    return await restoring.undo(this.#store, rollback, undoOptions);
  }

  /**
   * Takes back what changed from checkpoint `from` to checkpoint `to`, and keeps what was changed since (C15): "undo this turn, keep
   * mine". A path that the turn did not change is never touched; one that was changed again since is a conflict, unless it is already as
   * it was before. By default conflicts keep everything from being written, and the report lists them. `undo` with the report takes a
   * revert back, and the two ids the other way round do the turn again.
   *
   * @throws TurnbackError `WORKSPACE_MISMATCH` for checkpoints of two workspaces, `WORKSPACE_REPLACED`, `CORRUPT`, `DISK_FULL`, `BUSY`,
   *   `ABORTED`, `TIMED_OUT`
   */
  async revert(from: string, to: string, revertOptions?: RevertOptions): Promise<RollbackReport> {
    return await restoring.revert(this.#store, from, to, revertOptions);
  }

  /**
   * Finishes a rollback, undo or revert of a directory that was interrupted: by a crash, a kill, a deadline or a signal (C8). Every call
   * that writes to the workspace does the same first. Paths that somebody changed meanwhile are left and listed.
   *
   * @returns `undefined` when nothing was interrupted
   * @throws TurnbackError with `details.pending` when it cannot be finished now: it waits on
   */
  async recover(directory: Path, recoverOptions?: Bounded): Promise<RecoveryReport | undefined> {
    return await restoring.resume(this.#store, 'recover', directory, recoverOptions);
  }

  /** Gives up what was interrupted: the directory stays as it is, and the report's `actions` say what was still to be done. */
  async abandon(directory: Path, abandonOptions?: Bounded): Promise<RecoveryReport | undefined> {
    return await restoring.resume(this.#store, 'abandon', directory, abandonOptions);
  }

  /** What was interrupted and waits, in every workspace of the store. Changes nothing. */
  async pending(): Promise<readonly PendingRestore[]> {
    return records.pendingRestores(await this.#store.call(() => this.#store.native.pending()));
  }

  /** The checkpoints of one workspace or of all, oldest first. Damaged ones are left out and logged as warnings. */
  async listCheckpoints(sandboxId?: string): Promise<ListedCheckpoint[]> {
    const sandbox = sandboxId === undefined ? undefined : nameId('sandboxId', sandboxId);
    const { checkpoints, damaged } = await this.#store.call(() => this.#store.native.list(sandbox));
    for (const one of damaged) {
      this.#store.log.warn(
        { checkpointId: one.checkpointId, reason: one.reason },
        'a checkpoint is damaged and not listed',
      );
    }
    return checkpoints.map(records.listed);
  }

  /** Checkpoints whose record cannot be read, of whatever workspace: nobody knows whose they are. */
  async listDamaged(): Promise<readonly DamagedCheckpoint[]> {
    return records.damagedCheckpoints((await this.#store.call(() => this.#store.native.list())).damaged);
  }

  /** The `sandboxId` that checkpoints of this plain directory have. The directory need not exist any more. */
  async sandboxIdOf(directory: Path): Promise<string> {
    const bytes = absolute('directory', directory);
    return await this.#store.call(() => this.#store.native.sandboxIdOf(bytes));
  }

  /** One checkpoint's record; `undefined` when there is none of that id. */
  async getCheckpoint(id: string): Promise<SandboxCheckpoint | undefined> {
    const wanted = checkpointId('id', id);
    const found = await this.#store.call(() => this.#store.native.get(wanted));
    return found === null ? undefined : records.checkpoint(found);
  }

  /** Deletes a checkpoint and frees what only it held (C9); `false` when there is none of that id. */
  async deleteCheckpoint(id: string): Promise<boolean> {
    const wanted = checkpointId('id', id);
    this.#store.usable();
    // Before it is gone: a batch may ask meanwhile. It stays so when it fails, since nobody knows then how far it came.
    noteDeletion(wanted);
    return await this.#store.call(() => this.#store.native.delete(wanted));
  }

  /**
   * Deletes several checkpoints: all of them, or none when one of them is not there or cannot go now (an interrupted restore needs it, or
   * another one is damaged).
   *
   * @returns the ids in the order in which they went
   * @throws TurnbackError `NOT_FOUND`, `BUSY`, `CORRUPT`: nothing is deleted then
   */
  async deleteCheckpoints(ids: readonly string[]): Promise<readonly string[]> {
    const wanted = checkpointIds('ids', ids);
    this.#store.usable();
    // As for one.
    for (const id of wanted) noteDeletion(id);
    return Object.freeze(await this.#store.call(() => this.#store.native.deleteAll(wanted)));
  }

  /** Every path that a checkpoint does not cover, with the reason (C6). */
  async *coverage(id: string): AsyncGenerator<Uncovered, void, undefined> {
    const wanted = checkpointId('id', id);
    for (const one of await this.#store.call(() => this.#store.native.coverage(wanted))) yield records.uncovered(one);
  }

  /** What differs between a checkpoint and another one, or the workspace as it is now. */
  async diff(from: string, to?: string, diffOptions?: Long): Promise<readonly Change[]> {
    const left = checkpointId('from', from);
    const right = to === undefined || to === 'now' ? undefined : checkpointId('to', to);
    const given = options('options', LONG, diffOptions);
    const found = await this.#store.long('the comparison', UNCHANGED, given, {
      start: (ticket, control) => this.#store.native.diff(left, right, ticket, control),
    });
    return records.changes(found);
  }

  /** A file's bytes as they were. `path` is relative to the workspace. */
  async readFile(id: string, path: Path): Promise<Buffer> {
    const wanted = checkpointId('id', id);
    const bytes = pathBytes('path', path);
    const content = await this.#store.call(() => this.#store.native.readFile(wanted, bytes));
    return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  }

  /** Writes a checkpoint into a new or empty directory, as plain files. */
  async export(id: string, directory: Path, exportOptions?: Long): Promise<void> {
    const wanted = checkpointId('id', id);
    const into = absolute('directory', directory);
    const given = options('options', LONG, exportOptions);
    await this.#store.long('the export', 'the directory holds a part of it: remove it', given, {
      start: (ticket, control) => this.#store.native.export(wanted, into, ticket, control),
    });
  }

  /**
   * Gives a checkpoint a label of at most 200 bytes, or with `null` removes it.
   *
   * @returns `'pin'` when label and pin were damaged ({@link ListedCheckpoint.marksDamaged}): they are written anew, and whether it was
   *   pinned is lost, so that it is pinned now
   */
  async label(id: string, text: string | null): Promise<'pin' | undefined> {
    const wanted = checkpointId('id', id);
    const wish = text === null ? null : label('label', text);
    const lost = await this.#store.call(() => this.#store.native.setLabel(wanted, wish));
    if (lost === null) return undefined;
    this.#store.log.warn({ checkpointId: wanted }, 'label and pin were damaged; it counts as pinned now');
    return 'pin';
  }

  /**
   * Keeps a checkpoint from being pruned, or no longer. `deleteCheckpoint` deletes it all the same.
   *
   * @returns `'label'` when label and pin were damaged ({@link ListedCheckpoint.marksDamaged}): they are written anew, and a label that it
   *   had is lost
   */
  async pin(id: string, pinned: boolean): Promise<'label' | undefined> {
    const wanted = checkpointId('id', id);
    const wish = flag('pinned', pinned);
    const lost = await this.#store.call(() => this.#store.native.setPinned(wanted, wish));
    if (lost === null) return undefined;
    this.#store.log.warn({ checkpointId: wanted }, 'label and pin were damaged; a label that it had is lost');
    return 'label';
  }

  /**
   * Removes checkpoints by rules, and frees what only they held (C9). What `keepLast` or `keepWithinMs` covers stays, the rest goes; then,
   * while the store holds more than `maxBytes`, the oldest go as well. Pinned ones always stay, and so does what an interrupted restore
   * needs. Without a rule only old automatic checkpoints go, as they do by themselves (C16).
   *
   * Rules that would leave nothing but pinned checkpoints are refused, unless `all` says that this is meant: `maxBytes: 0` is more often
   * a mistake, and no undo brings checkpoints back.
   *
   * @throws TurnbackError `INVALID_ARGUMENT` with `details.argument === 'rules.all'` for these, with nothing deleted; `CORRUPT` when a damaged checkpoint keeps others from being deleted, `BUSY`, `ABORTED`, `TIMED_OUT`
   */
  async prune(rules?: PruneRules, pruneOptions?: Bounded): Promise<PruneReport> {
    const given = options('rules', PRUNE, rules);
    const limits = options('options', BOUNDED, pruneOptions);
    const { dryRun = false, all = false } = given;
    const request = { ...given, all, dryRun };
    const start = () =>
      this.#store.long('the prune', dryRun ? UNCHANGED : SOME_MAY_BE_GONE, limits, {
        start: (ticket, control) => this.#store.native.prune(request, ticket, control),
      });
    if (dryRun) return records.pruneReport(await start());
    const { checkpoints } = await this.#store.call(() => this.#store.native.list());
    const candidates = checkpoints.filter(({ pinned }) => !pinned).map(({ checkpoint }) => checkpoint.checkpointId);
    // While it runs nobody knows which are gone already: a guard then takes one checkpoint more than it needs.
    const over = beginDeletion(candidates);
    try {
      const report = await start();
      for (const id of report.deleted) noteDeletion(id);
      this.#store.log.info({ deleted: report.deleted.length, freedBytes: report.freedBytes }, 'pruned');
      return records.pruneReport(report);
    } catch (error) {
      for (const id of candidates) noteDeletion(id);
      throw error;
    } finally {
      over();
    }
  }

  /** Switches the guard's checkpoints off for this store, at once and in every process. Checkpoints that you take still happen. */
  async pause(): Promise<void> {
    await this.#store.call(() => this.#store.native.pause());
  }

  /** Switches them on again. */
  async resume(): Promise<void> {
    await this.#store.call(() => this.#store.native.resume());
  }

  /** Whether they are switched off, whoever did it. */
  async isPaused(): Promise<boolean> {
    return await this.#store.call(() => this.#store.native.isPaused());
  }

  /** Reads one checkpoint, or all of them, and compares every byte with its checksum. */
  async verify(id?: string, verifyOptions?: Long): Promise<VerifyReport> {
    const wanted = id === undefined ? undefined : checkpointId('id', id);
    const given = options('options', LONG, verifyOptions);
    const report = await this.#store.long('the verification', UNCHANGED, given, {
      start: (ticket, control) => this.#store.native.verify(wanted, ticket, control),
    });
    return records.verifyReport(report);
  }

  /** Bytes held by the store, and bytes that the deletion of each checkpoint would free. */
  async usage(): Promise<UsageReport> {
    return records.usageReport(await this.#store.call(() => this.#store.native.usage()));
  }

  /**
   * Waits for the work that runs, that of cancelled calls included (it ends at its next system call), then closes the
   * store. May be called again. An ephemeral store is removed, with its sandboxes and whatever they hold.
   */
  close(): Promise<void> {
    return this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

const ofStore = ({ storePath }: CheckpointManager) => ({ store: storePath });
const one = (manager: CheckpointManager, [named]: readonly unknown[]) => ({
  ...ofStore(manager),
  checkpointId: idIn(named, 'checkpointId'),
});
traceMethod(CheckpointManager.prototype, 'createCheckpoint', 'checkpoint.create', ofStore);
traceMethod(CheckpointManager.prototype, 'deleteCheckpoint', 'checkpoint.delete', one);
traceMethod(CheckpointManager.prototype, 'deleteCheckpoints', 'checkpoint.delete', ofStore);
traceMethod(CheckpointManager.prototype, 'diff', 'checkpoint.diff', one);
traceMethod(CheckpointManager.prototype, 'export', 'checkpoint.export', one);
traceMethod(CheckpointManager.prototype, 'prune', 'checkpoint.prune', ofStore);
traceMethod(CheckpointManager.prototype, 'verify', 'checkpoint.verify', ofStore);
traceMethod(CheckpointManager.prototype, 'rollbackTo', 'restore.rollback', one);
traceMethod(CheckpointManager.prototype, 'undo', 'restore.undo', (manager, [rollback]) => ({
  ...ofStore(manager),
  checkpointId: idIn(rollback, 'undoCheckpointId'),
}));
traceMethod(CheckpointManager.prototype, 'revert', 'restore.revert', one);
traceMethod(CheckpointManager.prototype, 'recover', 'restore.recover', ofStore);
traceMethod(CheckpointManager.prototype, 'abandon', 'restore.abandon', ofStore);
