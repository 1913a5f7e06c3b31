/** The driver for directories of this machine: the engine's own checkpoints (G12). */
import type { AttemptFacts } from 'turnback-policy/shell';
import { untilAborted } from '../bash/waits.js';
import { canonical, DIGEST_ID, directoryId } from '../bash/workplace.js';
import { options } from '../check.js';
import { wasDeleted } from '../deletions.js';
import { takeEarly } from '../early.js';
import { invalidArgument, isTurnbackError, TurnbackError } from '../errors.js';
import type { CheckpointManager } from '../manager.js';
import { CREATE, nameId } from '../options.js';
import type { Path } from '../paths.js';
import { isVoid, restoresOf } from '../restores.js';
import { target as checkedTarget, type SandboxOrPath } from '../sandbox/target.js';
import type { Sandbox } from '../sandbox/types.js';
import { storeOf } from '../store.js';
import type { CreateOptions } from '../types.js';
import type { Driver, DriverAnswer, DriverRequest } from './driver.js';

/** What the driver's checkpoints leave out, and what plan they belong to. */
export interface LocalDriverOptions
  extends Pick<CreateOptions, 'exclude' | 'excludeIgnored' | 'maxFileBytes' | 'maxFiles' | 'allowBroad'> {
  /** `guard` by default. */
  planId?: string | undefined;
}

/** {@link localDriver}'s driver: with it the guard knows of pauses, restores and deletions. */
export type LocalDriver = Required<Omit<Driver, 'isPaused'>>;

const { exclude, excludeIgnored, maxFileBytes, maxFiles, allowBroad } = CREATE;
const OPTIONS = { exclude, excludeIgnored, maxFileBytes, maxFiles, allowBroad, planId: nameId };

/** Where the guard's shell keeps what it knows of an attempt (`wasm/lib/shell/driver.ts`). */
const ATTEMPT = Symbol.for('turnback.attempt');
interface Attempted {
  [ATTEMPT]: AttemptFacts;
}

/** Where it looks for the answer that a promise is certain of. */
const CERTAIN = Symbol.for('turnback.certain');

/**
 * How much earlier than the guard's limit the engine's own deadline is, in milliseconds: so that the engine can still say what it
 * waited for. Of a short limit a tenth.
 */
const AHEAD_MS = 100;

/** The longest deadline that the engine takes, in milliseconds. */
const MAX_DEADLINE_MS = 2 ** 31 - 1;

/**
 * Checkpoints of one directory or sandbox, into the manager's store, with the phase `pre_batch`. The metadata say `comment`, `turnId` and,
 * if earlier batches of the turn may have run, `late` (G6).
 *
 * When the guard gives up, the engine's work ends at its next system call, leaves nothing and publishes nothing (C12). While
 * the store is paused, the guard skips (C17); whether it is, a thread of the manager's looks, never the event loop. After a
 * rollback by any manager of this thread the guard counts on no checkpoint from before it (G8), and on none that one of them
 * deleted.
 *
 * It is for one sandbox. Its `sandboxId` is the sandbox's id, the directory's path, the id that the store has for it (`manager.sandboxIdOf`), or
 * else a name of the caller's: the first one stays. A checkpoint for another sandbox is refused with `INVALID_ARGUMENT`, because
 * it would be of the wrong directory.
 *
 * @param target the sandbox or the directory; a relative path is resolved at this call, by the working directory
 * @throws TurnbackError `INVALID_ARGUMENT`. A checkpoint rejects with `BUSY` when another operation held the workspace until shortly
 *   before the guard's limit, and with what `createCheckpoint` throws
 */
export function localDriver(
  manager: CheckpointManager,
  target: SandboxOrPath,
  driverOptions?: LocalDriverOptions,
): LocalDriver {
  if (typeof manager?.createCheckpoint !== 'function') {
    throw invalidArgument('manager', 'manager is no CheckpointManager: pass what CheckpointManager.open() gave');
  }
  const { directory, recorded } = checkedTarget('target', target);
  const { planId = 'guard', ...scope } = options('options', OPTIONS, driverOptions);
  const workspace = new Workspace();
  const own = idOfSandbox(target);
  const sandbox = new OneSandbox(directory, own);
  // A sandbox is given on as one: the engine then follows no link that stands where its root was.
  const pictured = recorded
    ? ({ id: own, path: directory.toString(), pathBytes: directory } as Partial<Sandbox> as Sandbox)
    : directory;

  async function attempt(
    { sandboxId, comment, signal }: DriverRequest,
    progress: { isCreating: boolean },
  ): Promise<DriverAnswer> {
    const from = performance.now();
    const { turnId, late, limitMs } = (signal as Partial<Attempted>)[ATTEMPT] ?? {};
    sandbox.take(sandboxId);
    const [paused, id] = await Promise.all([manager.isPaused(), idOf(manager, directory)]);
    if (paused) return { paused };
    await sandbox.check(sandboxId, id, manager);
    if (id !== undefined && !workspace.known) workspace.is(id);
    const metadata = {
      comment,
      ...(turnId === undefined ? {} : { turnId }),
      ...(late ? { late: 'true' } : {}),
    };
    // Besides the signal: while a script blocks the event loop, no signal fires.
    const deadlineMs = limitMs === undefined ? undefined : deadlineOf(limitMs, performance.now() - from);
    progress.isCreating = true;
    try {
      const made = await manager.createCheckpoint(pictured, planId, 'pre_batch', metadata, {
        ...scope,
        signal,
        deadlineMs,
      });
      workspace.is(made.sandboxId);
      return { checkpointId: made.checkpointId, partial: !made.coverage.complete };
    } catch (error) {
      // Too slow: that is the guard's to say, when its limit is over.
      if (isTurnbackError(error) && error.code === 'TIMED_OUT') await aborted(signal);
      throw error;
    }
  }

  async function answer(request: DriverRequest): Promise<DriverAnswer> {
    // What is no request rejects here, before anything runs whose rejection nobody would hear.
    const { signal } = request;
    const progress = { isCreating: false };
    const running = attempt(request, progress);
    // Whatever the store hangs in, the caller is told at once.
    const made = await untilAborted(signal, running);
    if (made !== 'aborted') return made;
    // That ends by itself now, and if the checkpoint was there already, the guard has to hear of it: it asks for its deletion.
    if (progress.isCreating) return await running;
    void running.catch(() => {});
    throw new TurnbackError('ABORTED', 'the checkpoint was cancelled; nothing is left behind', {
      cause: signal.reason,
    });
  }

  /** The answer, as soon as the checkpoint is there and stays: what the engine notes for the next one, nobody has to wait for. */
  function certain({ signal }: DriverRequest): DriverAnswer | undefined {
    const created = takeEarly(signal);
    if (created === undefined) return undefined;
    const { checkpointId, sandboxId, coverage } = created.checkpoint;
    workspace.is(sandboxId);
    return { checkpointId, partial: !coverage.complete };
  }

  return {
    createCheckpoint: (request) => Object.defineProperty(answer(request), CERTAIN, { value: () => certain(request) }),
    async deleteCheckpoint(checkpointId) {
      await manager.deleteCheckpoint(checkpointId);
    },
    restores: () => workspace.restores(),
    isDeleted: (checkpointId) =>
      wasDeleted(checkpointId) || workspace.isVoid(checkpointId) || storeOf(manager)?.isGone === true,
  };
}

function deadlineOf(limitMs: number, passedMs: number): number {
  const ahead = Math.min(AHEAD_MS, limitMs / 10);
  return Math.min(MAX_DEADLINE_MS, Math.max(1, Math.floor(limitMs - passedMs - ahead)));
}

/** The store's id of the directory; `undefined` when it cannot be told: the checkpoint itself fails then, and says why. */
async function idOf(manager: CheckpointManager, directory: Path): Promise<string | undefined> {
  try {
    return await manager.sandboxIdOf(directory);
  } catch {
    return undefined;
  }
}

/** Resolves when the signal fires. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

/** What the store's ids of plain directories look like. */
const STORE_ID = /^ws-[0-9a-f]{32}$/;

/** What the ids of sandboxes in place look like. */
const IN_PLACE_ID = /^none-[0-9A-HJKMNP-TV-Z]{26}$/;

/** The id of a sandbox that is given as one. */
function idOfSandbox(target: SandboxOrPath): string | undefined {
  const { id } = (typeof target === 'object' && target !== null ? target : {}) as { id?: unknown };
  return typeof id === 'string' ? id : undefined;
}

/** Keeps a driver for one directory from vouching for another. */
class OneSandbox {
  readonly #directory: Buffer;
  /** The id of the sandbox that the driver was made for, if it was made for one. */
  readonly #own: string | undefined;
  #name: string | undefined;

  constructor(directory: Buffer, own: string | undefined) {
    this.#directory = directory;
    this.#own = own;
  }

  /** A name of the caller's says nothing of a directory, so the first one is taken at its word. */
  take(sandboxId: string): void {
    if (sandboxId === this.#own || sandboxId.startsWith('/') || STORE_ID.test(sandboxId)) return;
    if (sandboxId.startsWith(DIGEST_ID)) return;
    if (IN_PLACE_ID.test(sandboxId)) {
      throw wrongSandbox('this is the id of a sandbox that it was not made for; give localDriver the sandbox itself');
    }
    this.#name ??= sandboxId;
    if (sandboxId !== this.#name) throw wrongSandbox(`it made those of ${JSON.stringify(this.#name)} so far`);
  }

  /** The other names say which directory is meant. */
  async check(sandboxId: string, id: string | undefined, manager: CheckpointManager): Promise<void> {
    if (sandboxId === this.#own) return;
    if (sandboxId.startsWith(DIGEST_ID)) {
      if (sandboxId === directoryId(await canonical(this.#directory))) return;
      throw wrongSandbox('this is the id of another one');
    }
    const meant = sandboxId.startsWith('/') ? await manager.sandboxIdOf(sandboxId) : sandboxId;
    if (STORE_ID.test(meant) && meant !== id) throw wrongSandbox('this is the id of another one');
  }
}

function wrongSandbox(why: string): TurnbackError {
  return invalidArgument(
    'sandboxId',
    `this localDriver makes checkpoints of one directory, for one sandbox, and ${why}: make a driver and a guard for each`,
  );
}

/** The id that the store knows the directory by, and how often it was restored since that is known. */
class Workspace {
  #id: string | undefined;
  #before = 0;
  #since = 0;

  get known(): boolean {
    return this.#id !== undefined;
  }

  /** Restores from before a checkpoint was begun do not concern it. The root may have been replaced: then it is another workspace. */
  is(id: string): void {
    if (id === this.#id) return;
    this.#since = this.restores();
    this.#id = id;
    this.#before = restoresOf(id);
  }

  /** Whether a checkpoint protects no more, because something of the directory was restored since. */
  isVoid(checkpointId: string): boolean {
    return this.#id !== undefined && isVoid(this.#id, checkpointId);
  }

  restores(): number {
    return this.#id === undefined ? this.#since : this.#since + restoresOf(this.#id) - this.#before;
  }
}
