import { untilAborted } from '../bash/waits.js';
import { TurnbackError } from '../errors.js';

/** A place in a queue. */
export interface Turn {
  /** Settles when all before have left. */
  ready: Promise<void>;
  leave(): void;
}

/** @internal Lets the calls on one sandbox through one after the other, in the order in which they came. */
export class Turns {
  #last: Promise<void> = Promise.resolve();

  /** Takes a place at once. */
  take(): Turn {
    const ready = this.#last;
    let leave = () => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    // Who leaves early does not let others pass who came later.
    this.#last = ready.then(() => left);
    return { ready, leave };
  }

  /**
   * Runs `work` when its turn comes.
   *
   * @throws TurnbackError `ABORTED` when the signal fires before
   */
  async run<T>(what: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const turn = this.take();
    try {
      await awaited(turn.ready, what, signal);
      return await work();
    } finally {
      turn.leave();
    }
  }
}

/** Waits for one's turn, unless the signal fires. */
export async function awaited(ready: Promise<unknown>, what: string, signal: AbortSignal | undefined): Promise<void> {
  if ((await untilAborted(signal, ready)) !== 'aborted') return;
  throw new TurnbackError('ABORTED', `${what} was cancelled; nothing was begun`, { cause: signal?.reason });
}
