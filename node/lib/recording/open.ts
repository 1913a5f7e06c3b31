import type { Batch } from 'turnback-policy/shell';
import type { Asked } from './timeline.js';

/** The batches that have asked and are not over, by sandbox and in the order in which they asked. */
export class OpenBatches {
  readonly #all = new Set<Asked>();
  readonly #bySandbox = new Map<string, Set<Asked>>();
  readonly #byBatch = new WeakMap<Batch, Asked>();

  add(asked: Asked): void {
    const { sandboxId, batch } = asked;
    const own = this.#bySandbox.get(sandboxId) ?? new Set();
    this.#bySandbox.set(sandboxId, own.add(asked));
    this.#all.add(asked);
    // Somebody may ask with one object again and again: the last one counts.
    this.#byBatch.set(batch, asked);
  }

  delete(asked: Asked): void {
    this.#all.delete(asked);
    const own = this.#bySandbox.get(asked.sandboxId);
    own?.delete(asked);
    if (own?.size === 0) this.#bySandbox.delete(asked.sandboxId);
  }

  has(asked: Asked): boolean {
    return this.#all.has(asked);
  }

  find(batch: Batch): Asked | undefined {
    const asked = this.#byBatch.get(batch);
    return asked !== undefined && this.#all.has(asked) ? asked : undefined;
  }

  /** The batch of a turn that asked last. */
  last(sandboxId: string, turnId: string | undefined): Asked | undefined {
    return this.of(sandboxId).findLast((asked) => asked.turnId === turnId);
  }

  of(sandboxId: string): Asked[] {
    return [...(this.#bySandbox.get(sandboxId) ?? [])];
  }

  /** Whether a sandbox has any. */
  any(sandboxId: string): boolean {
    return this.#bySandbox.has(sandboxId);
  }

  all(): Asked[] {
    return [...this.#all];
  }

  /** The oldest one, if there are more than so many. */
  over(most: number): Asked | undefined {
    return this.#all.size > most ? this.#all.values().next().value : undefined;
  }
}
