/** How many checkpoints are remembered by their turns: the last ones. */
const MOST = 1024;

/**
 * The last checkpoints that turns ran under. The gate remembers six turns a sandbox; of a turn that comes back after six others
 * it has to be asked whether its checkpoint is still there, because without it the turn ran unprotected (G6).
 */
export class Made {
  /** By sandbox, then by turn. What was put in last is at the end of both. */
  readonly #turns = new Map<string, Map<string, string>>();
  #size = 0;

  add(sandboxId: string, turnId: string, checkpointId: string): void {
    this.delete(sandboxId, turnId);
    const turns = this.#turns.get(sandboxId) ?? new Map<string, string>();
    this.#turns.delete(sandboxId);
    this.#turns.set(sandboxId, turns.set(turnId, checkpointId));
    this.#size += 1;
    if (this.#size > MOST) this.#dropOldest();
  }

  get(sandboxId: string, turnId: string): string | undefined {
    return this.#turns.get(sandboxId)?.get(turnId);
  }

  delete(sandboxId: string, turnId: string): void {
    const turns = this.#turns.get(sandboxId);
    if (turns?.delete(turnId) !== true) return;
    this.#size -= 1;
    if (turns.size === 0) this.#turns.delete(sandboxId);
  }

  /** The sandbox was restored: none of its turns has run in it as it is now. */
  forget(sandboxId: string): void {
    this.#size -= this.#turns.get(sandboxId)?.size ?? 0;
    this.#turns.delete(sandboxId);
  }

  /** Of the sandbox unused longest, the turn whose checkpoint is the oldest. */
  #dropOldest(): void {
    for (const [sandboxId, turns] of this.#turns) {
      for (const turnId of turns.keys()) {
        this.delete(sandboxId, turnId);
        return;
      }
    }
  }
}
