import { type Asked, ask, type Driver, noteAttempt, type Result } from './driver.js';
import type { Start } from './gate.js';
import type { Host } from './host.js';
import type { SafeLog } from './log.js';
import { has, quiet } from './settle.js';

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

interface Running {
  attempt: Attempt;
  controller: AbortController;
  settle: (result: Result) => void;
  asked?: Asked;
}

/** Runs a driver's attempts, each under a signal of its own. */
export class Attempts {
  readonly #host: Host;
  readonly #driver: Driver;
  readonly #log: SafeLog;
  readonly #settled: (attempt: Attempt, result: Result) => void;
  readonly #running = new Map<number, Running>();
  /** The ids that the driver is deleting now, each with how often. */
  readonly #deleting = new Map<string, number>();
  /** For each attempt, the ids that were being deleted while it was under way: whether it made one of them before or after, nobody knows. */
  readonly #doomed = new Map<Attempt, Set<string>>();
  /** Drivers are being asked for what they are certain of. */
  #asking = false;
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

  /** The sandboxes with an attempt under way. */
  sandboxes(): Iterable<string> {
    return this.#bySandbox.keys();
  }

  start({ attempt: number, sandboxId, turnId, comment, late }: Start, limitMs: number): void {
    const controller = new AbortController();
    const attempt: Attempt = { number, sandboxId, turnId, reported: false };
    this.#bySandbox.set(sandboxId, attempt);
    const { signal } = controller;
    this.#doomed.set(attempt, new Set(this.#deleting.keys()));
    noteAttempt(signal, Object.freeze({ turnId, late, limitMs }));
    let told: Result | undefined;
    const settle = (result: Result) => {
      if (told !== undefined) return this.#again(told, result);
      told = result;
      const doomed = this.#doomed.get(attempt);
      this.#doomed.delete(attempt);
      // What comes too late counts for nothing anyway.
      this.#settled(attempt, this.#running.delete(number) ? this.#surely(result, doomed) : result);
      this.#leave(attempt);
    };
    const running: Running = { attempt, controller, settle };
    this.#running.set(number, running);
    running.asked = ask(this.#driver, { sandboxId, comment, signal });
    void running.asked.result.then(settle);
  }

  /** Settles what the driver is certain of, before a limit ends it. */
  settleEarly(): void {
    // Whoever is asked may come back to the guard with something: it is not asked again for that.
    if (this.#asking) return;
    this.#asking = true;
    try {
      for (const { asked, settle } of [...this.#running.values()]) {
        const result = asked?.early();
        if (result !== undefined) settle(result);
      }
    } finally {
      this.#asking = false;
    }
  }

  /** What a promise says after it was certain of something. Another checkpoint than that one counts for nothing (G10). */
  #again(told: Result, result: Result): void {
    if (!('partial' in result) || result.checkpointId === undefined) return;
    if (!('partial' in told) || told.checkpointId !== result.checkpointId) this.deleteLate(result.checkpointId);
  }

  /** Nobody waits for it any more. */
  abort(number: number): void {
    const running = this.#running.get(number);
    if (running === undefined) return;
    this.#running.delete(number);
    this.#doomed.delete(running.attempt);
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
    const driver = this.#driver;
    if (!has(driver, 'deleteCheckpoint')) {
      this.#log.say('info', { checkpointId }, 'a checkpoint came too late; it counts for nothing and stays');
      return;
    }
    this.#log.say('info', { checkpointId }, 'a checkpoint came too late; it counts for nothing and is deleted');
    this.#deleting.set(checkpointId, (this.#deleting.get(checkpointId) ?? 0) + 1);
    for (const ids of this.#doomed.values()) ids.add(checkpointId);
    const ended = () => {
      const left = (this.#deleting.get(checkpointId) ?? 1) - 1;
      if (left > 0) this.#deleting.set(checkpointId, left);
      else this.#deleting.delete(checkpointId);
    };
    const failed = (error: unknown) => {
      ended();
      this.#log.say('warn', { checkpointId, err: error }, 'a checkpoint that came too late could not be deleted');
    };
    try {
      quiet(driver.deleteCheckpoint(checkpointId), failed, ended);
    } catch (error) {
      failed(error);
    }
  }

  /** A checkpoint counts only if the driver cannot have been deleting that very one (G10). */
  #surely(result: Result, doomed: Set<string> | undefined): Result {
    if (!('partial' in result) || result.checkpointId === undefined) return result;
    if (!doomed?.has(result.checkpointId)) return result;
    this.deleteLate(result.checkpointId);
    return {
      error: new Error(
        `the driver answered with the id of a checkpoint that it was asked to delete meanwhile: give each checkpoint an id of its own`,
      ),
    };
  }

  #leave(attempt: Attempt): void {
    if (this.#bySandbox.get(attempt.sandboxId) === attempt) this.#bySandbox.delete(attempt.sandboxId);
  }
}
