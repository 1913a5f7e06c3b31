/** One attempt to checkpoint a Sprite: what its steps share. */
import { TurnbackError } from '../../errors.js';
import type { Logger } from '../../log.js';
import type { DriverRequest } from '../driver.js';

/** What is going on, and for whom. */
export class Attempt {
  readonly comment: string;
  /** What every error of this attempt carries. */
  readonly details: Readonly<Record<string, unknown>>;
  readonly log: Logger;
  /** How far it has come, for the one who gives up; completes the sentence "the checkpoint was cancelled". */
  stage = 'before it began';
  readonly #signal: AbortSignal;

  constructor(request: DriverRequest, log: Logger) {
    this.comment = request.comment;
    this.details = { sandboxId: request.sandboxId, comment: request.comment };
    this.log = log;
    this.#signal = request.signal;
  }

  #aborted(): TurnbackError {
    const message = `the checkpoint of the Sprite was cancelled ${this.stage}; ask again for another one`;
    return new TurnbackError('ABORTED', message, { cause: this.#signal.reason, details: this.details });
  }

  /** @throws TurnbackError `ABORTED` when the signal has fired */
  throwIfAborted(): void {
    if (this.#signal.aborted) throw this.#aborted();
  }

  /**
   * What `work` gives, unless the signal fires first: then this rejects at once, whatever the work hangs in. A value that
   * comes afterwards goes to `late`; a failure that comes afterwards is of no interest to anyone, save that `late` failed.
   *
   * @throws TurnbackError `ABORTED`; else what the work fails with
   */
  before<T>(work: Promise<T>, late: (value: T) => void = () => {}): Promise<T> {
    const signal = this.#signal;
    return new Promise<T>((resolve, reject) => {
      let over = false;
      const end = () => {
        over = true;
        signal.removeEventListener('abort', onAbort);
      };
      const onAbort = () => {
        end();
        reject(this.#aborted());
      };
      work
        .then(
          (value) => {
            if (over) return late(value);
            end();
            resolve(value);
          },
          (error: unknown) => {
            if (over) return;
            end();
            reject(error);
          },
        )
        .catch((error: unknown) => {
          this.log.warn({ ...this.details, err: error }, 'what a Sprite answered too late could not be dealt with');
        });
      if (signal.aborted) onAbort();
      else signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Waits, in milliseconds. @throws TurnbackError `ABORTED` */
  async pause(delayMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const elapsed = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, delayMs);
    });
    try {
      await this.before(elapsed);
    } finally {
      clearTimeout(timer);
    }
  }
}
