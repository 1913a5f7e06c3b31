import type { Elapsed } from './clock.js';
import type { Output } from './gate.js';

/** The gate's next deadline, and the timer that tells the guard of it. */
export class Alarm {
  readonly #time: Elapsed;
  readonly #wake: (nowMs: number) => void;
  #set: { at: number; cancel: () => void } | undefined;
  /** By the guard's time. What comes at it or later comes after what is due. */
  due = Number.POSITIVE_INFINITY;

  constructor(time: Elapsed, wake: (nowMs: number) => void) {
    this.#time = time;
    this.#wake = wake;
  }

  /** Now; or, when a limit is over and nobody has been told yet, right before it: what is there by then counts. */
  inTime(): number {
    return Math.min(this.#time.now(), this.due - 1);
  }

  /** The gate has said what it waits for. */
  expect(output: Extract<Output, { type: 'timeout' | 'idle' }>): void {
    this.due = output.type === 'idle' ? Number.POSITIVE_INFINITY : output.at;
    // Nobody waits for a sweep: it is done at the next batch, and no timer is left behind for a day.
    if (output.type === 'idle' || output.reason === 'sweep') this.off();
    else if (this.#set?.at !== output.at) this.#at(output.at);
  }

  off(): void {
    this.#set?.cancel();
    this.#set = undefined;
  }

  #at(at: number): void {
    this.off();
    const wake = () => {
      this.#set = undefined;
      this.#wake(this.#time.atLeast(at));
    };
    this.#set = { at, cancel: this.#time.schedule(Math.max(0, at - this.#time.now()), wake) };
  }
}
