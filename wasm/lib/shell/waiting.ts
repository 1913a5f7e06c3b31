import { Aborts } from './aborts.js';
import type { Verdict } from './verdict.js';

/** A batch that waits for its verdict. */
export interface Waiter {
  /** What was asked with. */
  readonly given: object;
  readonly sandboxId: string;
  readonly turnId: string | undefined;
  /** Whether it must not run without a checkpoint. */
  readonly block: boolean;
  resolve(verdict: Verdict): void;
  reject(error: Error): void;
}

/** For all guards: an agent has many, and one signal. */
const aborts = new Aborts();

/** The batches that wait, under their numbers. */
export class Waiting {
  readonly #waiters = new Map<number, Waiter & { leave: () => void }>();
  #last = 0;

  /** Adds a batch. `onAbort` hears of its number if the signal fires while it waits. */
  add(
    batch: { given: object; sandboxId: string; turnId: string | undefined; block: boolean },
    signal: AbortSignal | undefined,
    onAbort: (number: number) => void,
  ): { number: number; verdict: Promise<Verdict> } {
    this.#last += 1;
    const number = this.#last;
    const leave = signal === undefined ? () => {} : aborts.on(signal, () => onAbort(number));
    const verdict = new Promise<Verdict>((resolve, reject) => {
      this.#waiters.set(number, {
        ...batch,
        resolve,
        reject,
        leave,
      });
    });
    return { number, verdict };
  }

  /** A batch that waits. */
  get(number: number): Waiter | undefined {
    return this.#waiters.get(number);
  }

  /** Takes a batch out, to be answered. */
  take(number: number): Waiter | undefined {
    const waiter = this.#waiters.get(number);
    this.#waiters.delete(number);
    waiter?.leave();
    return waiter;
  }

  takeAll(): Waiter[] {
    return [...this.#waiters.keys()].flatMap((number) => this.take(number) ?? []);
  }
}
