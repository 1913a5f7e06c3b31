/** The gate forgets a sandbox that nobody used for so long, in milliseconds (G8). */
const KEPT_UNUSED_MS = 24 * 60 * 60 * 1000;

/**
 * How often each sandbox was restored, by the driver's count. Kept for as long as the gate may remember the sandbox or a batch
 * waits there: a number that was lost would look like a restore, and each restore costs a checkpoint.
 */
export class Restores {
  readonly #busy: () => Iterable<string>;
  /** The sandboxes used since {@link #sinceMs}. */
  #young = new Map<string, number>();
  /** Those that were used before, and not since. */
  #old = new Map<string, number>();
  #sinceMs: number | undefined;

  /** `busy` tells in which sandboxes attempts are under way. */
  constructor(busy: () => Iterable<string>) {
    this.#busy = busy;
  }

  /** How many are remembered. */
  get size(): number {
    return this.#young.size + this.#old.size;
  }

  /** Whether the number is another than at the last look. The first look counts as one. */
  changed(sandboxId: string, number: number, nowMs: number): boolean {
    this.#forgetUnused(nowMs);
    this.used(sandboxId);
    const before = this.#young.get(sandboxId);
    if (before !== undefined && Object.is(before, number)) return false;
    this.#young.set(sandboxId, number);
    return true;
  }

  /** The sandbox is in use as of now. */
  used(sandboxId: string): void {
    if (this.#old.size === 0) return;
    const number = this.#old.get(sandboxId);
    if (number === undefined) return;
    this.#old.delete(sandboxId);
    this.#young.set(sandboxId, number);
  }

  /** Those that have been old for 24 hours go; whoever is young grows old. */
  #forgetUnused(nowMs: number): void {
    this.#sinceMs ??= nowMs;
    if (nowMs - this.#sinceMs < KEPT_UNUSED_MS) return;
    for (const sandboxId of this.#busy()) this.used(sandboxId);
    [this.#sinceMs, this.#old, this.#young] = [nowMs, this.#young, new Map()];
  }
}
