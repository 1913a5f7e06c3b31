import { addon } from './addon.js';
import { type Call, type Limits, long } from './call.js';
import { flag, options } from './check.js';
import { noteDeletion } from './deletions.js';
import { invalidArgument, TurnbackError } from './errors.js';
import { unwrap } from './failure.js';
import { type Logger, safely } from './log.js';
import type { Failure, NativeManager } from './native.js';
import { CREATE, checkpointId, LONG, label, metadata, nameId, OPEN, phase, ROLLBACK } from './options.js';
import { absolute, type Path, pathBytes } from './paths.js';
import * as records from './records.js';
import { noteRestore } from './restores.js';
import type {
  Change,
  CreateOptions,
  ListedCheckpoint,
  Long,
  OpenOptions,
  Phase,
  RollbackOptions,
  RollbackReport,
  SandboxCheckpoint,
  Uncovered,
  UsageReport,
  VerifyReport,
} from './types.js';

const UNCHANGED = 'nothing was changed';
const NOTHING_LEFT = 'nothing is left behind';
const PERHAPS_IN_PART = 'what it did so far stays: run it again, or look at it with diff()';

/** How long a rollback that was given up may take to say how far it came, in milliseconds (C8). */
const LINGER_MS = 2_000;

/**
 * One store of checkpoints. All calls are asynchronous and run on threads of the manager's own; calls on different
 * workspaces do not wait for each other (C10).
 *
 * Opening: {@link CheckpointManager.open}. Making: `createCheckpoint`. Looking: `listCheckpoints`, `getCheckpoint`,
 * `coverage`, `diff`, `readFile`, `export`, `verify`, `usage`. Restoring: `rollbackTo`, `undo`. Keeping: `label`, `pin`,
 * `deleteCheckpoint`. Ending: `close`, or `await using`.
 *
 * Every call rejects with a {@link TurnbackError}: `INVALID_ARGUMENT` for arguments that can never be right, `NOT_FOUND` for an
 * id that no checkpoint has, `POISONED` once the manager is closed, and the codes that each one names.
 */
export class CheckpointManager implements AsyncDisposable {
  readonly #native: NativeManager;
  readonly #log: Logger;
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  private constructor(native: NativeManager, log: Logger) {
    this.#native = native;
    this.#log = log;
  }

  /**
   * Opens a store, which is made where there is none.
   *
   * @throws TurnbackError `STORE_UNSAFE`, `STORE_FORMAT`, `PERMISSION_DENIED`, `DISK_FULL`; `UNSUPPORTED_PLATFORM` and
   *   `NATIVE_BINARY_MISSING` where there is no engine
   */
  static async open(openOptions?: OpenOptions): Promise<CheckpointManager> {
    const { store, durability, strict, logger } = options('options', OPEN, openOptions);
    const native = unwrap(
      await addon().openManager({
        ...(store === undefined || store === 'ephemeral' ? {} : { store }),
        ephemeral: store === 'ephemeral',
        ...(durability === undefined ? {} : { powerDurability: durability === 'power' }),
        strict: strict ?? false,
      }),
    );
    const manager = new CheckpointManager(native, safely(logger));
    manager.#log.debug({ store: manager.storePath }, 'store opened');
    return manager;
  }

  /** The store's directory. */
  get storePath(): string {
    return this.#native.storePath.text;
  }

  /**
   * Takes a checkpoint of a directory as it is now (C3, C4). The directory is only read.
   *
   * @param target the directory; a relative path is resolved at this call, by the working directory
   * @param metadata at most 64 keys of 1 to 128 bytes, values of at most 4 KiB
   * @throws TurnbackError `NOT_A_DIRECTORY`, `PERMISSION_DENIED`, `TOO_BROAD`, `STORE_NESTED`, `STORE_FULL`, `DISK_FULL`,
   *   `BUSY`, `ABORTED`, `TIMED_OUT`
   */
  async createCheckpoint(
    target: Path,
    planId: string,
    atPhase: Phase,
    meta?: Readonly<Record<string, string>>,
    createOptions?: CreateOptions,
  ): Promise<SandboxCheckpoint> {
    const named = {
      directory: absolute('target', target),
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
    const created = await this.#long('the checkpoint', NOTHING_LEFT, given, {
      start: (ticket, control) => this.#native.create(request, ticket, control),
      takeBack: async ({ checkpointId }) => {
        unwrap(await this.#native.delete(checkpointId));
      },
    });
    const { checkpointId: id, coverage } = created;
    this.#log.info({ checkpointId: id, files: coverage.files, complete: coverage.complete }, 'checkpoint created');
    return records.checkpoint(created);
  }

  /**
   * Makes the checkpoint's workspace equal to the checkpoint again (C7). The state before is checkpointed first, so that
   * this can be undone (C8).
   *
   * @param checkpoint its record or its id. A record must be the store's own: another workspace or sandbox in it is refused
   * @throws TurnbackError `WORKSPACE_MISMATCH`, `WORKSPACE_REPLACED`, `CORRUPT`, `DISK_FULL`, `BUSY`, `ABORTED`, `TIMED_OUT`
   */
  async rollbackTo(checkpoint: SandboxCheckpoint | string, rollbackOptions?: RollbackOptions): Promise<RollbackReport> {
    const named = typeof checkpoint === 'string' ? checkpointId('checkpoint', checkpoint) : ownRecord(checkpoint);
    const given = options('options', ROLLBACK, rollbackOptions);
    const request = {
      dryRun: given.dryRun ?? false,
      ...(given.paths === undefined ? {} : { paths: given.paths }),
      ...(given.into === undefined ? {} : { into: given.into }),
      gitExact: given.git === 'exact',
      allowReplacedRoot: given.allowReplacedRoot ?? false,
      safety: given.safety ?? true,
    };
    if (given.paths?.length === 0) {
      throw invalidArgument(
        'options.paths',
        'options.paths is empty: name what to restore, or leave it out for everything',
      );
    }
    const id = typeof named === 'string' ? named : await this.#stored(named);
    const roll = () =>
      this.#long('the rollback', request.dryRun ? UNCHANGED : PERHAPS_IN_PART, given, {
        start: (ticket, control) => this.#native.rollback(id, request, ticket, control),
        lingerMs: LINGER_MS,
      });
    const report = request.dryRun ? await roll() : await this.#restoring(id, request.into, roll);
    const { restored, written, deleted, undoCheckpointId } = report;
    this.#log.info({ checkpointId: id, restored, written, deleted, undoCheckpointId }, 'rolled back');
    return records.rollbackReport(report);
  }

  /**
   * Takes a rollback back: the workspace becomes what it was before it.
   *
   * @param rollback the rollback's report, or its `undoCheckpointId`
   * @throws TurnbackError `NOT_UNDOABLE` when the rollback took no checkpoint, or the id is of a checkpoint that no rollback made
   */
  async undo(rollback: RollbackReport | string, undoOptions?: Long): Promise<RollbackReport> {
    const id = checkpointId('rollback', typeof rollback === 'string' ? rollback : undoIdOf(rollback));
    const given = options('options', LONG, undoOptions);
    const report = await this.#restoring(id, undefined, () =>
      this.#long('the undo', PERHAPS_IN_PART, given, {
        start: (ticket, control) => this.#native.undo(id, ticket, control),
        lingerMs: LINGER_MS,
      }),
    );
    this.#log.info({ checkpointId: id, restored: report.restored }, 'rollback undone');
    return records.rollbackReport(report);
  }

  /** The checkpoints of one workspace or of all, oldest first. Damaged ones are left out and logged as warnings. */
  async listCheckpoints(sandboxId?: string): Promise<ListedCheckpoint[]> {
    const sandbox = sandboxId === undefined ? undefined : nameId('sandboxId', sandboxId);
    const { checkpoints, damaged } = await this.#call(() => this.#native.list(sandbox));
    for (const one of damaged) {
      this.#log.warn({ checkpointId: one.checkpointId, reason: one.reason }, 'a checkpoint is damaged and not listed');
    }
    return checkpoints.map(records.listed);
  }

  /** The `sandboxId` that checkpoints of this plain directory have. The directory need not exist any more. */
  async sandboxIdOf(directory: Path): Promise<string> {
    const bytes = absolute('directory', directory);
    return await this.#call(() => this.#native.sandboxIdOf(bytes));
  }

  /** One checkpoint's record; `undefined` when there is none of that id. */
  async getCheckpoint(id: string): Promise<SandboxCheckpoint | undefined> {
    const wanted = checkpointId('id', id);
    const found = await this.#call(() => this.#native.get(wanted));
    return found === null ? undefined : records.checkpoint(found);
  }

  /** Deletes a checkpoint and frees what only it held (C9); `false` when there is none of that id. */
  async deleteCheckpoint(id: string): Promise<boolean> {
    const wanted = checkpointId('id', id);
    this.#usable();
    try {
      return await this.#call(() => this.#native.delete(wanted));
    } finally {
      // Also when it failed: nobody knows how far it came.
      noteDeletion(wanted);
    }
  }

  /** Every path that a checkpoint does not cover, with the reason (C6). */
  async *coverage(id: string): AsyncGenerator<Uncovered, void, undefined> {
    const wanted = checkpointId('id', id);
    for (const one of await this.#call(() => this.#native.coverage(wanted))) yield records.uncovered(one);
  }

  /** What differs between a checkpoint and another one, or the workspace as it is now. */
  async diff(from: string, to?: string, diffOptions?: Long): Promise<readonly Change[]> {
    const left = checkpointId('from', from);
    const right = to === undefined || to === 'now' ? undefined : checkpointId('to', to);
    const given = options('options', LONG, diffOptions);
    const found = await this.#long('the comparison', UNCHANGED, given, {
      start: (ticket, control) => this.#native.diff(left, right, ticket, control),
    });
    return records.changes(found);
  }

  /** A file's bytes as they were. `path` is relative to the workspace. */
  async readFile(id: string, path: Path): Promise<Buffer> {
    const wanted = checkpointId('id', id);
    const bytes = pathBytes('path', path);
    const content = await this.#call(() => this.#native.readFile(wanted, bytes));
    return Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  }

  /** Writes a checkpoint into a new or empty directory, as plain files. */
  async export(id: string, directory: Path, exportOptions?: Long): Promise<void> {
    const wanted = checkpointId('id', id);
    const into = absolute('directory', directory);
    const given = options('options', LONG, exportOptions);
    await this.#long('the export', 'the directory holds a part of it: remove it', given, {
      start: (ticket, control) => this.#native.export(wanted, into, ticket, control),
    });
  }

  /** Gives a checkpoint a label of at most 200 bytes, or with `null` removes it. */
  async label(id: string, text: string | null): Promise<void> {
    const wanted = checkpointId('id', id);
    const wish = text === null ? null : label('label', text);
    await this.#call(() => this.#native.setLabel(wanted, wish));
  }

  /** Keeps a checkpoint from being pruned, or no longer. */
  async pin(id: string, pinned: boolean): Promise<void> {
    const wanted = checkpointId('id', id);
    const wish = flag('pinned', pinned);
    await this.#call(() => this.#native.setPinned(wanted, wish));
  }

  /** Switches the guard's checkpoints off for this store, at once and in every process. Checkpoints that you take still happen. */
  async pause(): Promise<void> {
    await this.#call(() => this.#native.pause());
  }

  /** Switches them on again. */
  async resume(): Promise<void> {
    await this.#call(() => this.#native.resume());
  }

  /** Whether they are switched off, whoever did it. */
  async isPaused(): Promise<boolean> {
    return await this.#call(() => this.#native.isPaused());
  }

  /** Reads one checkpoint, or all of them, and compares every byte with its checksum. */
  async verify(id?: string, verifyOptions?: Long): Promise<VerifyReport> {
    const wanted = id === undefined ? undefined : checkpointId('id', id);
    const given = options('options', LONG, verifyOptions);
    const report = await this.#long('the verification', UNCHANGED, given, {
      start: (ticket, control) => this.#native.verify(wanted, ticket, control),
    });
    return records.verifyReport(report);
  }

  /** Bytes held by the store, and bytes that the deletion of each checkpoint would free. */
  async usage(): Promise<UsageReport> {
    return records.usageReport(await this.#call(() => this.#native.usage()));
  }

  /**
   * Waits for the work that runs, that of cancelled calls included (it ends at its next system call), then closes the
   * store. May be called again. An ephemeral store is removed.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#running);
    unwrap(await this.#native.close());
    this.#log.debug({ store: this.storePath }, 'store closed');
  }

  /** The id of a record, if the store's own record names the same workspace. */
  async #stored(given: SandboxCheckpoint): Promise<string> {
    const id = given.checkpointId;
    const stored = await this.#call(() => this.#native.get(id));
    if (stored === null) {
      throw new TurnbackError(
        'NOT_FOUND',
        `there is no checkpoint ${id} in this store; listCheckpoints() gives those that are`,
      );
    }
    if (stored.sandboxId !== given.sandboxId || stored.workspace.text !== given.workspace) {
      throw new TurnbackError(
        'WORKSPACE_MISMATCH',
        `the record of checkpoint ${id} names another workspace than the store does; pass the record as the store gave it, and \`into\` to restore elsewhere`,
      );
    }
    return id;
  }

  /** A restore of the workspace of checkpoint `id`, or of `into`: also one that fails halfway voids what guards remember (G8). */
  async #restoring<T>(id: string, into: Buffer | undefined, restore: () => Promise<T>): Promise<T> {
    this.#usable();
    const workspace = await this.#workspaceOf(id, into);
    try {
      return await restore();
    } finally {
      noteRestore(workspace);
    }
  }

  /** `undefined` if it cannot be told. Of a checkpoint that does not exist, nothing is restored: no workspace has an empty id. */
  async #workspaceOf(id: string, into: Buffer | undefined): Promise<string | undefined> {
    try {
      if (into !== undefined) return await this.#call(() => this.#native.sandboxIdOf(into));
      return (await this.#call(() => this.#native.get(id)))?.sandboxId ?? '';
    } catch {
      return undefined;
    }
  }

  #usable(): void {
    if (this.#closing === undefined) return;
    throw new TurnbackError(
      'POISONED',
      'this CheckpointManager is closed: open a new one with CheckpointManager.open()',
    );
  }

  /** A short call. */
  async #call<T>(start: () => Promise<T | Failure>): Promise<T> {
    this.#usable();
    return unwrap(await this.#track(start()));
  }

  /** A long call. */
  async #long<T>(
    what: string,
    afterwards: string,
    { signal, onProgress, deadlineMs }: Limits,
    call: Pick<Call<T>, 'start' | 'takeBack' | 'lingerMs'>,
  ): Promise<T> {
    this.#usable();
    const track = (work: Promise<void>) => void this.#track(work);
    return await long({ what, afterwards, log: this.#log, track, ...call }, { signal, onProgress, deadlineMs });
  }

  #track<T>(running: Promise<T>): Promise<T> {
    this.#running.add(running);
    const done = () => this.#running.delete(running);
    running.then(done, done);
    return running;
  }
}

/** Something that can be a record: whether it is one of the store's, the store knows. */
function ownRecord(given: SandboxCheckpoint): SandboxCheckpoint {
  if (typeof given !== 'object' || given === null) {
    throw invalidArgument('checkpoint', 'checkpoint is neither a record nor an id: pass what createCheckpoint() gave');
  }
  checkpointId('checkpoint.checkpointId', given.checkpointId);
  return given;
}

function undoIdOf(report: RollbackReport): string {
  if (typeof report !== 'object' || report === null) {
    throw invalidArgument('rollback', 'rollback is neither a report nor an id: pass what rollbackTo() gave');
  }
  checkpointId('rollback.checkpointId', report.checkpointId);
  if (report.undoCheckpointId !== undefined) return report.undoCheckpointId;
  throw new TurnbackError(
    'NOT_UNDOABLE',
    'this rollback took no checkpoint first (a dry run, safety: false, or nothing was there): there is nothing to go back to',
  );
}
