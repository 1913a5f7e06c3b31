/** The gate forgets a sandbox that nobody used for so long, in milliseconds (G8). */
const KEPT_UNUSED_MS = 24 * 60 * 60 * 1000;

/** What a look at a sandbox's number says: it was not restored since the last look, it was, or nobody knows. */
export type Restored = 'no' | 'yes' | 'perhaps';

/**
 * How often each sandbox was restored, by the driver's count. Kept for as long as the gate may remember the sandbox or a batch
 * waits there: a number that was lost would look like a restore, and each restore costs a checkpoint.
 *
 * Most sandboxes have the number that the first one had. They are not kept one by one, which would cost more than the gate does (W8).
 */
export class Restores {
  readonly #busy: () => Iterable<string>;
  /** The number of every sandbox that is not kept: of each that was looked at. */
  #common: number | undefined;
  /** There may be sandboxes that were used and never looked at: until the gate has forgotten them. */
  #unseen = false;
  #unseenSinceMs: number | undefined;
  /** The sandboxes used since {@link #sinceMs}. No number: the last look gave none. */
  #young = new Map<string, number | undefined>();
  /** Those that were used before, and not since. */
  #old = new Map<string, number | undefined>();
  #sinceMs: number | undefined;

  /** `busy` tells in which sandboxes attempts are under way. */
  constructor(busy: () => Iterable<string>) {
    this.#busy = busy;
  }

  /** How many are kept. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Another driver counts from now on, in sandboxes that are known already. */
  reset(): void {
    [this.#common, this.#unseen, this.#unseenSinceMs] = [undefined, true, undefined];
    this.#young.clear();
    this.#old.clear();
  }

  /** Looks at a sandbox's number. None: the driver could not say. */
  look(sandboxId: string, number: number | undefined, nowMs: number): Restored {
    this.#forgetUnused(nowMs);
    if (this.#unseen) this.#forgetUnseen(nowMs);
    this.used(sandboxId);
    if (number === undefined) {
      this.#young.set(sandboxId, number);
      return 'no';
    }
    const kept = this.#young.has(sandboxId);
    const before = kept ? this.#young.get(sandboxId) : this.#common;
    if (Object.is(before, number)) return 'no';
    if (this.#unseen) this.#young.set(sandboxId, number);
    else {
      this.#common ??= number;
      if (Object.is(this.#common, number)) this.#young.delete(sandboxId);
      else this.#young.set(sandboxId, number);
    }
    return before === undefined ? 'perhaps' : 'yes';
  }

  /** The sandbox is in use as of now. */
  used(sandboxId: string): void {
    if (this.#old.size === 0 || !this.#old.has(sandboxId)) return;
    this.#young.set(sandboxId, this.#old.get(sandboxId));
    this.#old.delete(sandboxId);
  }

  #forgetUnseen(nowMs: number): void {
    this.#unseenSinceMs ??= nowMs;
    if (nowMs - this.#unseenSinceMs < KEPT_UNUSED_MS) return;
    // Whoever waits for so long is looked at when the wait is over, and has to be found.
    for (const _ of this.#busy()) return;
    this.#unseen = false;
  }

  /** Those that have been old for 24 hours go; whoever is young grows old. */
  #forgetUnused(nowMs: number): void {
    this.#sinceMs ??= nowMs;
    if (nowMs - this.#sinceMs < KEPT_UNUSED_MS) return;
    for (const sandboxId of this.#busy()) this.used(sandboxId);
    [this.#sinceMs, this.#old, this.#young] = [nowMs, this.#young, new Map()];
  }
}
