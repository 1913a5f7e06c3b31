import { Deletions } from './deletions.js';
import { type Asked, ask, type Driver, type DriverRequest, noteAttempt, type Result } from './driver.js';
import type { Start } from './gate.js';
import type { Host } from './host.js';
import type { SafeLog } from './log.js';

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

/** A driver that there was, and the last attempt that was its own. */
interface Former {
  driver: Driver | undefined;
  last: number;
}

/** So many drivers that there were can still be asked to delete something. */
const MOST_FORMER = 16;

/** Runs a driver's attempts, each under a signal of its own. */
export class Attempts {
  readonly #host: Host;
  #driver: Driver | undefined;
  readonly #former: Former[] = [];
  /** Of attempts up to this number nobody knows any more whose they were. */
  #unknown = -1;
  readonly #settled: (attempt: Attempt, result: Result) => void;
  readonly #running = new Map<number, Running>();
  readonly #deletions: Deletions;
  /** The number of the last attempt. */
  #last = 0;
  /** Drivers are being asked for what they are certain of. */
  #asking = false;
  /** One at a time on each sandbox (G4). */
  readonly #bySandbox = new Map<string, Attempt>();

  constructor(
    host: Host,
    driver: Driver | undefined,
    log: SafeLog,
    settled: (attempt: Attempt, result: Result) => void,
  ) {
    this.#host = host;
    this.#driver = driver;
    this.#deletions = new Deletions(log);
    this.#settled = settled;
  }

  /** Another driver makes the attempts from now on. */
  use(driver: Driver | undefined): void {
    this.#former.push({ driver: this.#driver, last: this.#last });
    if (this.#former.length > MOST_FORMER) this.#unknown = this.#former.shift()?.last ?? this.#unknown;
    this.#driver = driver;
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
    const since = this.#deletions.now();
    this.#last = number;
    noteAttempt(signal, Object.freeze({ turnId, late, limitMs }));
    let told: Result | undefined;
    const settle = (result: Result) => {
      if (told !== undefined) return this.#again(number, told, result);
      told = result;
      // What comes too late counts for nothing anyway.
      this.#settled(attempt, this.#running.delete(number) ? this.#surely(number, result, since) : result);
      this.#leave(attempt);
    };
    const running: Running = { attempt, controller, settle };
    this.#running.set(number, running);
    running.asked = this.#ask({ sandboxId, comment, signal });
    void running.asked.result.then(settle);
  }

  #ask(request: DriverRequest): Asked {
    if (this.#driver !== undefined) return ask(this.#driver, request);
    const error = new Error('the driver was taken away while batches waited for its checkpoint');
    return { result: Promise.resolve({ error }), early: () => undefined };
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
  #again(number: number, told: Result, result: Result): void {
    if (!('partial' in result) || result.checkpointId === undefined) return;
    if (!('partial' in told) || told.checkpointId !== result.checkpointId) {
      this.deleteLate(number, result.checkpointId);
    }
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

  /** A checkpoint of an attempt that came when nobody waited for it any more (G10): its own driver is asked, or nobody. */
  deleteLate(number: number, checkpointId: string): void {
    if (number <= this.#unknown) return;
    const former = this.#former.find(({ last }) => number <= last);
    this.#deletions.ask(former === undefined ? this.#driver : former.driver, checkpointId);
  }

  /** A checkpoint counts only if the driver cannot have been deleting that very one (G10). */
  #surely(number: number, result: Result, since: number): Result {
    if (!('partial' in result) || result.checkpointId === undefined) return result;
    if (!this.#deletions.mayHaveHit(result.checkpointId, since)) return result;
    this.deleteLate(number, result.checkpointId);
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
