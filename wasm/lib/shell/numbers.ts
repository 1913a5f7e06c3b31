/** A batch that came more than once: a release of it names none. */
const SEVERAL = 0;

/**
 * Which batch a release is for, when it is given the very object that `beforeBatch` got (G8). Of batches that came when their turn
 * had its checkpoint it is only known that they came: the gate does not tell them apart.
 */
export class Numbers {
  readonly #numbers = new WeakMap<object, number>();

  /** The batch has come, under this number. */
  add(batch: object, number: number): void {
    this.#numbers.set(batch, this.#numbers.has(batch) ? SEVERAL : number);
  }

  /** The batch has come, and has no number. */
  covered(batch: object): void {
    if (this.#numbers.get(batch) !== SEVERAL) this.#numbers.set(batch, SEVERAL);
  }

  of(batch: object): number | undefined {
    const number = this.#numbers.get(batch);
    return number === SEVERAL ? undefined : number;
  }
}
