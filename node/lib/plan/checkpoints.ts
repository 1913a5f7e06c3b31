/** The checkpoints of one run of a plan: taken or done without, and rolled back to when it fails (C13, C14). */
import { TurnbackError } from '../errors.js';
import type { Logger } from '../log.js';
import type { Sandbox } from '../sandbox/types.js';
import type { Phase, RollbackReport, SandboxCheckpoint } from '../types.js';
import { textOf } from './failure.js';
import type { Checked } from './options.js';
import type { PlanRollback } from './types.js';

/** One run of one plan in one sandbox. */
export class RunCheckpoints {
  readonly #settings: Checked;
  readonly #planId: string;
  readonly #sandbox: Sandbox;
  /** The last one that this run took: others' may lie between, a guard's for example, and are not gone back to. */
  #last: SandboxCheckpoint | undefined;

  constructor(settings: Checked, planId: string, sandbox: Sandbox) {
    this.#settings = settings;
    this.#planId = planId;
    this.#sandbox = sandbox;
  }

  /**
   * Takes one; without a manager it does nothing.
   *
   * @throws TurnbackError `CHECKPOINT_REQUIRED` when it cannot be taken and the plan may not go on without
   */
  async take(phase: Phase, metadata: Readonly<Record<string, string>> = {}): Promise<void> {
    const { manager, onFailure } = this.#settings;
    if (manager === undefined) return;
    try {
      this.#last = await manager.createCheckpoint(this.#sandbox, this.#planId, phase, metadata);
    } catch (error) {
      if (onFailure === 'proceed') {
        this.#log.warn({ ...this.#named(), phase, err: error }, 'a checkpoint failed; the plan goes on without it');
        return;
      }
      this.#log.error({ ...this.#named(), phase, err: error }, 'a checkpoint failed; the plan ends');
      throw new TurnbackError(
        'CHECKPOINT_REQUIRED',
        `the plan may not go on without its ${phase} checkpoint, which failed: ${textOf(error)}; mend that, or allow it with onCheckpointFailure: 'proceed'`,
        { cause: error, details: { phase, planId: this.#planId, sandboxId: this.#sandbox.id } },
      );
    }
  }

  /** Goes back to the last one of this run. Never rejects: what the plan failed with is more than what its rollback failed with. */
  async rollBack(failure: object, told: 'told' | 'untold' = 'untold'): Promise<PlanRollback> {
    const { manager } = this.#settings;
    const checkpoint = this.#last;
    if (manager === undefined || checkpoint === undefined) {
      if (told === 'untold')
        this.#log.warn({ ...this.#named(), ...failure }, 'the plan failed; nothing was rolled back');
      return { rolledBack: false };
    }
    const fields = { ...this.#named(), ...failure, checkpointId: checkpoint.checkpointId };
    let rollback: RollbackReport;
    try {
      // What lies in a sandbox of ours is ours, its .git too; in place it is the user's (C7).
      const git = this.#sandbox.strategy === 'none' ? 'keep' : 'exact';
      rollback = await manager.rollbackTo(checkpoint, { git });
    } catch (error) {
      this.#log.error({ ...fields, rollbackErr: error }, 'the plan failed and could not be rolled back');
      return { rolledBack: false, rollbackError: error };
    }
    const { restored: rolledBack, undoCheckpointId, notRestorable, kept } = rollback;
    if (!rolledBack) {
      const left = { notRestorable: notRestorable.length, kept: kept.length };
      this.#log.error({ ...fields, undoCheckpointId, ...left }, 'the plan failed and was rolled back in part');
    } else if (told === 'untold') {
      this.#log.warn({ ...fields, undoCheckpointId }, 'the plan failed and was rolled back');
    }
    return { rolledBack, rollback };
  }

  get #log(): Logger {
    return this.#settings.log;
  }

  #named() {
    return { planId: this.#planId, sandboxId: this.#sandbox.id };
  }
}
