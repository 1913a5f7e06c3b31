import { quiet } from './settle.js';
import type { Verdict } from './verdict.js';

/** A batch that waits for its verdict. */
export interface Waiter {
  readonly sandboxId: string;
  readonly turnId: string | undefined;
  /** Whether it must not run without a checkpoint. */
  readonly block: boolean;
  resolve(verdict: Verdict): void;
  reject(error: Error): void;
}

/** A signal of somebody's own making may throw; its batch, and all others, get their answers all the same (G5). */
function attempt(call: () => unknown): void {
  try {
    quiet(call());
  } catch {
    // Then it cannot cancel the batch: the batch's limit still ends it.
  }
}

/** The batches that wait, under their numbers. */
export class Waiting {
  readonly #waiters = new Map<number, Waiter & { leave: () => void }>();
  #last = 0;

  /** Adds a batch. `onAbort` hears of its number if the signal fires while it waits. */
  add(
    batch: { sandboxId: string; turnId: string | undefined; block: boolean },
    signal: AbortSignal | undefined,
    onAbort: (number: number) => void,
  ): { number: number; verdict: Promise<Verdict> } {
    this.#last += 1;
    const number = this.#last;
    const listener = () => onAbort(number);
    attempt(() => signal?.addEventListener('abort', listener, { once: true }));
    const verdict = new Promise<Verdict>((resolve, reject) => {
      this.#waiters.set(number, {
        ...batch,
        resolve,
        reject,
        leave: () => attempt(() => signal?.removeEventListener('abort', listener)),
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
