import { ask, type Driver, noteAttempt, type Result } from './driver.js';
import type { Start } from './gate.js';
import type { Host } from './host.js';
import { quiet, type SafeLog } from './log.js';

/** An attempt to make a checkpoint. */
export interface Attempt {
  /** The gate's number. */
  readonly number: number;
  readonly sandboxId: string;
  readonly turnId: string;
  /** Whether its failure or time-out has been logged. */
  reported: boolean;
  /** Why it failed. */
  error?: unknown;
}

/** Runs a driver's attempts, each under a signal of its own. */
export class Attempts {
  readonly #host: Host;
  readonly #driver: Driver;
  readonly #log: SafeLog;
  readonly #settled: (attempt: Attempt, result: Result) => void;
  readonly #running = new Map<number, { attempt: Attempt; controller: AbortController }>();
  /** One at a time on each sandbox (G4). */
  readonly #bySandbox = new Map<string, Attempt>();

  constructor(host: Host, driver: Driver, log: SafeLog, settled: (attempt: Attempt, result: Result) => void) {
    this.#host = host;
    this.#driver = driver;
    this.#log = log;
    this.#settled = settled;
  }

  /** The attempt under way on a sandbox, or the one whose end is being told. */
  ofSandbox(sandboxId: string): Attempt | undefined {
    return this.#bySandbox.get(sandboxId);
  }

  start({ attempt: number, sandboxId, turnId, comment, late }: Start, limitMs: number): void {
    const controller = new AbortController();
    const attempt: Attempt = { number, sandboxId, turnId, reported: false };
    this.#running.set(number, { attempt, controller });
    this.#bySandbox.set(sandboxId, attempt);
    const { signal } = controller;
    noteAttempt(signal, Object.freeze({ turnId, late, limitMs }));
    const settle = (result: Result) => {
      this.#running.delete(number);
      this.#settled(attempt, result);
      this.#leave(attempt);
    };
    void ask(this.#driver, { sandboxId, comment, signal }).then(settle);
  }

  /** Nobody waits for it any more. */
  abort(number: number): void {
    const running = this.#running.get(number);
    if (running === undefined) return;
    this.#running.delete(number);
    this.#leave(running.attempt);
    // Whatever had to be said of it has been said: that it now ends is no failure.
    running.attempt.reported = true;
    running.controller.abort(this.#host.error('ABORTED', 'nobody waits for this checkpoint any longer'));
  }

  abortAll(): void {
    for (const number of [...this.#running.keys()]) this.abort(number);
  }

  /** A checkpoint that came when nobody waited for it any more (G10). */
  deleteLate(checkpointId: string): void {
    const failed = (error: unknown) => {
      this.#log.say('warn', { checkpointId, err: error }, 'a checkpoint that came too late could not be deleted');
    };
    if (typeof this.#driver.deleteCheckpoint !== 'function') {
      this.#log.say('info', { checkpointId }, 'a checkpoint came too late; it counts for nothing and stays');
      return;
    }
    this.#log.say('info', { checkpointId }, 'a checkpoint came too late; it counts for nothing and is deleted');
    try {
      quiet(this.#driver.deleteCheckpoint(checkpointId), failed);
    } catch (error) {
      failed(error);
    }
  }

  #leave(attempt: Attempt): void {
    if (this.#bySandbox.get(attempt.sandboxId) === attempt) this.#bySandbox.delete(attempt.sandboxId);
  }
}
