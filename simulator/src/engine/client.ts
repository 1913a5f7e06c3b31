import type { Setup } from '../model/link.js';
import type { Answers, Reply, Request, Simulated, Trouble } from './protocol.js';

/** What the worker could not do, with a sentence for the reader. */
export class SimulatorError extends Error {
  readonly trouble: Trouble;

  constructor(trouble: Trouble) {
    super(trouble.message);
    this.trouble = trouble;
  }
}

/** The page's end of the worker. */
export class Engine {
  readonly #worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
  readonly #waiting = new Map<number, { resolve(value: unknown): void; reject(error: unknown): void }>();
  #last = 0;
  #running = false;
  #next: { setup: Setup; done(result: Simulated): void; failed(error: unknown): void } | undefined;

  constructor() {
    this.#worker.onmessage = ({ data }: MessageEvent<Reply>) => {
      const waiting = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if ('trouble' in data) waiting?.reject(new SimulatorError(data.trouble));
      else waiting?.resolve(data.answer);
    };
    this.#worker.onerror = (event) => {
      const error = new SimulatorError({
        message: `The simulator could not be started: ${event.message || 'its script did not load'}.`,
      });
      for (const waiting of this.#waiting.values()) waiting.reject(error);
      this.#waiting.clear();
    };
  }

  /** Asks the worker, and waits for its answer. */
  ask<R extends Request>(request: R): Promise<Answers[R['type']]> {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      this.#worker.postMessage({ id, request });
    });
  }

  /**
   * Runs the open scenario with a set-up. While one runs, only the latest further one waits, and the result of one that was overtaken is
   * told to nobody: the latest edit wins.
   */
  run(setup: Setup, done: (result: Simulated) => void, failed: (error: unknown) => void): void {
    this.#next = { setup, done, failed };
    if (!this.#running) void this.#drain();
  }

  async #drain(): Promise<void> {
    this.#running = true;
    while (this.#next !== undefined) {
      const mine = this.#next;
      this.#next = undefined;
      try {
        const result = await this.ask({ type: 'run', setup: mine.setup });
        if (this.#next === undefined) mine.done(result);
      } catch (error) {
        if (this.#next === undefined) mine.failed(error);
      }
    }
    this.#running = false;
  }
}
