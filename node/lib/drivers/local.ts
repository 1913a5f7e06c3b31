/** The driver for directories of this machine: the engine's own checkpoints (G12). */
import type { AttemptFacts } from 'turnback-policy/shell';
import { options } from '../check.js';
import { invalidArgument } from '../errors.js';
import type { CheckpointManager } from '../manager.js';
import { CREATE, nameId } from '../options.js';
import { absolute, type Path } from '../paths.js';
import { restoresOf } from '../restores.js';
import type { CreateOptions } from '../types.js';
import type { Driver } from './driver.js';

/** What the driver's checkpoints leave out, and what plan they belong to. */
export interface LocalDriverOptions
  extends Pick<CreateOptions, 'exclude' | 'excludeIgnored' | 'maxFileBytes' | 'maxFiles' | 'allowBroad'> {
  /** `guard` by default. */
  planId?: string | undefined;
}

/** {@link localDriver}'s driver: with it the guard knows of pauses and restores. */
export type LocalDriver = Required<Omit<Driver, 'isDeleted'>>;

const { exclude, excludeIgnored, maxFileBytes, maxFiles, allowBroad } = CREATE;
const OPTIONS = { exclude, excludeIgnored, maxFileBytes, maxFiles, allowBroad, planId: nameId };

/** Where the guard's shell keeps what it knows of an attempt (`wasm/lib/shell/driver.ts`). */
const ATTEMPT = Symbol.for('turnback.attempt');
interface Attempted {
  [ATTEMPT]: AttemptFacts;
}

/** How much later than the guard's signal the engine's own deadline is: the guard's answer comes first. */
const BEHIND_MS = 100;

/** The longest deadline that the engine takes, in milliseconds. */
const MAX_DEADLINE_MS = 2 ** 31 - 1;

/**
 * Checkpoints of one directory, into the manager's store, with the phase `pre_batch`. The metadata say `comment`, `turnId` and,
 * if earlier batches of the turn may have run, `late` (G6).
 *
 * When the guard gives up, the engine's work ends at its next system call, leaves nothing and publishes nothing (C12). While
 * the store is paused, the guard skips (C17). After a rollback by any manager of this process the guard counts on no checkpoint
 * from before it (G8).
 *
 * @param target the directory; a relative path is resolved at this call, by the working directory
 * @throws TurnbackError `INVALID_ARGUMENT`
 */
export function localDriver(manager: CheckpointManager, target: Path, driverOptions?: LocalDriverOptions): LocalDriver {
  if (typeof manager?.createCheckpoint !== 'function') {
    throw invalidArgument('manager', 'manager is no CheckpointManager: pass what CheckpointManager.open() gave');
  }
  const directory = absolute('target', target);
  const { planId = 'guard', ...scope } = options('options', OPTIONS, driverOptions);
  const workspace = new Workspace();
  return {
    async createCheckpoint({ comment, signal }) {
      if (!workspace.known) await workspace.learn(manager.sandboxIdOf(directory));
      const { turnId, late, limitMs } = (signal as Partial<Attempted>)[ATTEMPT] ?? {};
      const metadata = {
        comment,
        ...(turnId === undefined ? {} : { turnId }),
        ...(late ? { late: 'true' } : {}),
      };
      // Besides the signal and behind it: while a script blocks the event loop, no signal fires.
      const deadlineMs = limitMs === undefined ? undefined : Math.min(limitMs + BEHIND_MS, MAX_DEADLINE_MS);
      const made = await manager.createCheckpoint(directory, planId, 'pre_batch', metadata, {
        ...scope,
        signal,
        deadlineMs,
      });
      workspace.is(made.sandboxId);
      return { checkpointId: made.checkpointId, partial: !made.coverage.complete };
    },
    async deleteCheckpoint(checkpointId) {
      await manager.deleteCheckpoint(checkpointId);
    },
    isPaused: () => manager.isPaused(),
    restores: () => workspace.restores(),
  };
}

/** The id that the store knows the directory by, and how often it was restored since that is known. */
class Workspace {
  #id: string | undefined;
  #before = 0;
  #since = 0;

  get known(): boolean {
    return this.#id !== undefined;
  }

  /** Restores from before a checkpoint was begun do not concern it. */
  async learn(id: Promise<string>): Promise<void> {
    try {
      this.is(await id);
    } catch {
      // The checkpoint itself fails then, and says why.
    }
  }

  /** The root may have been replaced: then it is another workspace. */
  is(id: string): void {
    if (id === this.#id) return;
    this.#since = this.restores();
    this.#id = id;
    this.#before = restoresOf(id);
  }

  restores(): number {
    return this.#id === undefined ? this.#since : this.#since + restoresOf(this.#id) - this.#before;
  }
}
