import { type Call, type Limits, long } from './call.js';
import { TurnbackError } from './errors.js';
import { unwrap } from './failure.js';
import type { Logger } from './log.js';
import type { Failure, NativeManager } from './native.js';

/** @internal A store that is open, with the calls that run on it: what a manager is made of. */
export class OpenStore {
  readonly native: NativeManager;
  readonly log: Logger;
  readonly #deliver: () => void;
  readonly #goesWithManager: boolean;
  readonly #running = new Set<Promise<unknown>>();
  #closing: Promise<void> | undefined;

  /**
   * @param deliver gives the logger what the engine has said
   * @param goesWithManager whether its checkpoints are gone when it is closed
   */
  constructor(native: NativeManager, log: Logger, deliver: () => void = () => {}, goesWithManager = false) {
    this.native = native;
    this.log = log;
    this.#deliver = deliver;
    this.#goesWithManager = goesWithManager;
  }

  /** The store's directory. */
  get path(): string {
    return this.native.storePath.text;
  }

  /** Whether its checkpoints are gone, or going, with the store itself. */
  get isGone(): boolean {
    return this.#goesWithManager && this.#closing !== undefined;
  }

  /** @throws TurnbackError `POISONED` once it is closed */
  usable(): void {
    if (this.#closing === undefined) return;
    throw new TurnbackError(
      'POISONED',
      'this CheckpointManager is closed: open a new one with CheckpointManager.open()',
    );
  }

  /** A short call. */
  async call<T>(start: () => Promise<T | Failure>): Promise<T> {
    this.usable();
    return unwrap(await this.#track(start()));
  }

  /** A long call. */
  async long<T>(
    what: string,
    afterwards: Call<T>['afterwards'],
    { signal, onProgress, deadlineMs }: Limits,
    call: Pick<Call<T>, 'start' | 'takeBack' | 'writes' | 'early' | 'onRunning'>,
  ): Promise<T> {
    this.usable();
    const track = (work: Promise<void>) => void this.#track(work);
    return await long({ what, afterwards, log: this.log, track, ...call }, { signal, onProgress, deadlineMs });
  }

  /** Waits for what runs, then closes. May be called again. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#running);
    unwrap(await this.native.close());
    this.#deliver();
    this.log.debug({ store: this.path }, 'store closed');
  }

  #track<T>(running: Promise<T>): Promise<T> {
    this.#running.add(running);
    const done = () => {
      this.#running.delete(running);
      // What was said of a call is heard with its answer, also by a program that ends then.
      this.#deliver();
    };
    running.then(done, done);
    return running;
  }
}

/** Whose store it is: what works on a store needs its manager, and the manager shows its store to nobody else. */
const stores = new WeakMap<object, OpenStore>();

/** @internal Notes whose store it is. */
export function ownStore(manager: object, store: OpenStore): void {
  stores.set(manager, store);
}

/** @internal A manager's store; `undefined` for what is no manager of this copy of the package. */
export function storeOf(manager: object): OpenStore | undefined {
  return stores.get(manager);
}
