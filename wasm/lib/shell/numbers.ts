/** Nothing of the object is outstanding: whatever came with it was released, or held nothing. */
const NOTHING = 0;

/**
 * Which batch a release is for, when it is given the very object that `beforeBatch` got (G8), and whether it is for any.
 *
 * Kept of each object is the number of its one batch that was not released yet; or, if there are several, or one that came when its turn
 * had its checkpoint, less than nothing by how many. The gate does not tell those apart.
 */
export class Numbers {
  readonly #numbers = new WeakMap<object, number>();

  /** The batch has come, under this number. */
  add(batch: object, number: number): void {
    const before = this.#outstanding(batch);
    this.#numbers.set(batch, before === NOTHING ? number : before > 0 ? -2 : before - 1);
  }

  /** The batch has come, and has no number. */
  covered(batch: object): void {
    const before = this.#outstanding(batch);
    this.#numbers.set(batch, before > 0 ? -2 : before - 1);
  }

  /** The batch that came last with this object was let through by its turn's checkpoint: its number says nothing. */
  unnumbered(batch: object): void {
    if (this.#outstanding(batch) > 0) this.#numbers.set(batch, -1);
  }

  /** A batch of this object is released, or held nothing. */
  left(batch: object): void {
    const before = this.#numbers.get(batch);
    if (before !== undefined) this.#numbers.set(batch, before < 0 ? before + 1 : NOTHING);
  }

  /** The number of the object's batch; none where nobody knows which it is; `false` where none is outstanding. */
  of(batch: object): number | undefined | false {
    const number = this.#numbers.get(batch);
    if (number === NOTHING) return false;
    return number !== undefined && number > 0 ? number : undefined;
  }

  #outstanding(batch: object): number {
    return this.#numbers.get(batch) ?? NOTHING;
  }
}
