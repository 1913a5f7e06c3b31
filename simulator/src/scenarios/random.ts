/** Numbers that look random and are the same for the same seed on every machine (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 up to, but not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /** Whether something happens that happens so often, 0 to 1. */
  chance(rate: number): boolean {
    return this.next() < rate;
  }

  /** One of them. */
  pick<T>(all: readonly [T, ...T[]]): T {
    return all[this.between(0, all.length - 1)] ?? all[0];
  }
}
