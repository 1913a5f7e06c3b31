import type { Driver } from './driver.js';
import type { SafeLog } from './log.js';
import { has, quiet } from './settle.js';

/** One checkpoint that a driver was asked to delete. */
interface Deletion {
  /** How often it is being deleted just now. */
  running: number;
  /** When it was last said to be done, counted in events. */
  ended: number;
}

/** How many deletions are remembered. A driver need not settle them. */
const MOST = 1024;

/** The checkpoints that came when nobody waited for them any more (G10). */
export class Deletions {
  readonly #log: SafeLog;
  /** By checkpoint, the one asked for last at the end. */
  readonly #asked = new Map<string, Deletion>();
  #events = 0;

  constructor(log: SafeLog) {
    this.#log = log;
  }

  /** How many are remembered. */
  get size(): number {
    return this.#asked.size;
  }

  /** This moment, for `mayHaveHit`. */
  now(): number {
    this.#events += 1;
    return this.#events;
  }

  /** Asks the driver to delete a checkpoint, if it can. */
  ask(driver: Driver | undefined, checkpointId: string): void {
    if (!has(driver, 'deleteCheckpoint')) {
      this.#log.say('info', { checkpointId }, 'a checkpoint came too late; it counts for nothing and stays');
      return;
    }
    this.#log.say('info', { checkpointId }, 'a checkpoint came too late; it counts for nothing and is deleted');
    const deletion = this.#asked.get(checkpointId) ?? { running: 0, ended: 0 };
    this.#asked.delete(checkpointId);
    this.#asked.set(checkpointId, deletion);
    deletion.running += 1;
    if (this.#asked.size > MOST) this.#dropOne();
    const ended = () => {
      deletion.running -= 1;
      deletion.ended = this.now();
    };
    const failed = (error: unknown) => {
      ended();
      this.#log.say('warn', { checkpointId, err: error }, 'a checkpoint that came too late could not be deleted');
    };
    try {
      quiet((driver as Driver).deleteCheckpoint?.(checkpointId), failed, ended);
    } catch (error) {
      failed(error);
    }
  }

  /** Whether this checkpoint was being deleted at any time since that moment: whether it was made before or after, nobody knows. */
  mayHaveHit(checkpointId: string, since: number): boolean {
    const deletion = this.#asked.get(checkpointId);
    return deletion !== undefined && (deletion.running > 0 || deletion.ended > since);
  }

  /** The oldest that is done, or the oldest of all. */
  #dropOne(): void {
    let oldest: string | undefined;
    for (const [checkpointId, { running }] of this.#asked) {
      oldest ??= checkpointId;
      if (running > 0) continue;
      oldest = checkpointId;
      break;
    }
    if (oldest !== undefined) this.#asked.delete(oldest);
  }
}
