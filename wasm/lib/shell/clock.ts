import { quiet } from './settle.js';

/** Where a guard's time comes from. For tests and simulations; by default the host's monotonic clock and timers. */
export interface GuardClock {
  /**
   * Milliseconds since anything. May be set back or stand still: that delays limits, and breaks nothing. A step beyond the end
   * of time (2^52 ms) counts as none.
   */
  now(): number;
  /** Calls `wake` once after `ms` milliseconds, never from within this call; what it gives takes that back. */
  schedule(ms: number, wake: () => void): () => void;
}

/**
 * The host's clock. Its timer keeps the process alive: there is one only while a batch waits, and whoever waits for the
 * guard has to get the answer, also when the driver hangs in something that keeps nothing alive.
 */
export const SYSTEM_CLOCK: GuardClock = {
  now: () => (typeof performance === 'undefined' ? Date.now() : performance.now()),
  schedule: (ms, wake) => {
    const timer = setTimeout(wake, ms);
    return () => clearTimeout(timer);
  },
};

/** A guard's own time goes no further by its clock: 142,000 years, which leaves room for the limits that are yet to come. */
const END_MS = 2 ** 52;

/** A guard's own time in whole milliseconds: it starts at 0 and never runs backwards, whatever its clock does. */
export class Elapsed {
  #clock: GuardClock;
  readonly #odd: (error: unknown) => void;
  #elapsed = 0;
  #last: number | undefined;

  /** `odd` hears of what the clock does instead of what it should. */
  constructor(clock: GuardClock, odd: (error: unknown) => void) {
    this.#clock = clock;
    this.#odd = odd;
  }

  /** Another clock, from now on. */
  use(clock: GuardClock): void {
    if (clock === this.#clock) return;
    this.now();
    [this.#clock, this.#last] = [clock, undefined];
    this.now();
  }

  now(): number {
    const now = this.#shown();
    if (now !== undefined) {
      const step = now - (this.#last ?? now);
      this.#last = now;
      if (this.#elapsed + step >= END_MS) this.#odd(new RangeError('clock.now jumped to the end of time'));
      else if (step > 0) this.#elapsed += step;
    }
    return Math.floor(this.#elapsed);
  }

  /** Time is `at` or later: a timer said so, which counts more than a clock that was set back. */
  atLeast(at: number): number {
    const now = this.now();
    if (now >= at) return now;
    this.#elapsed = at;
    return at;
  }

  /** Calls `wake` once after `ms` milliseconds, later than this call; what it gives takes that back and never throws. */
  schedule(ms: number, wake: () => void): () => void {
    let over = false;
    let within = true;
    const once = () => {
      if (over) return;
      over = true;
      if (within) queueMicrotask(wake);
      else wake();
    };
    const cancel = this.#cancel(ms, once);
    within = false;
    return () => {
      over = true;
      try {
        quiet(cancel());
      } catch (error) {
        // The timer goes off, and nobody listens.
        this.#odd(error);
      }
    };
  }

  /** A clock that has no timers must not leave anybody waiting: the system's are used then. */
  #cancel(ms: number, wake: () => void): () => unknown {
    try {
      const cancel: unknown = this.#clock.schedule(ms, wake);
      if (typeof cancel === 'function') return () => cancel();
      quiet(cancel);
      this.#odd(new TypeError('clock.schedule gave no function: it has to give one that takes the timer back'));
      return () => {};
    } catch (error) {
      this.#odd(error);
      return SYSTEM_CLOCK.schedule(ms, wake);
    }
  }

  /** A clock that gives no number stands still. */
  #shown(): number | undefined {
    try {
      const now: unknown = this.#clock.now();
      if (Number.isFinite(now)) return now as number;
      quiet(now);
      this.#odd(new TypeError('clock.now gave no number'));
    } catch (error) {
      this.#odd(error);
    }
    return undefined;
  }
}
