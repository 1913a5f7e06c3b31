/** Where a guard's time comes from. For tests and simulations; by default the host's monotonic clock and timers. */
export interface GuardClock {
  /** Milliseconds since anything. May be set back or stand still: that delays limits, and breaks nothing. */
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

/** A guard's own time in whole milliseconds: it starts at 0 and never runs backwards, whatever its clock does. */
export class Elapsed {
  readonly #clock: GuardClock;
  #elapsed = 0;
  #last: number | undefined;

  constructor(clock: GuardClock) {
    this.#clock = clock;
  }

  now(): number {
    const now = this.#clock.now();
    if (Number.isFinite(now)) {
      if (this.#last !== undefined && now > this.#last) this.#elapsed += now - this.#last;
      this.#last = now;
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
}
