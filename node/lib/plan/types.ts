/** What plans take and give (C13, C14). */
import type { Logger } from '../log.js';
import type { CommitReport, Sandbox } from '../sandbox/types.js';
import type { Phase, RollbackOptions, RollbackReport, SandboxCheckpoint } from '../types.js';

/** What plans need of a {@link CheckpointManager}. */
export interface PlanCheckpoints {
  createCheckpoint(
    target: Sandbox,
    planId: string,
    phase: Phase,
    metadata?: Readonly<Record<string, string>>,
  ): Promise<SandboxCheckpoint>;
  rollbackTo(checkpoint: SandboxCheckpoint, options?: RollbackOptions): Promise<RollbackReport>;
}

/** What {@link PlanExecutor} and {@link PlanApplyService} take. */
export interface PlanOptions {
  /** Takes the checkpoints. Without one none is taken and nothing is rolled back. */
  checkpointManager?: PlanCheckpoints | undefined;
  /**
   * When a checkpoint cannot be taken: the plan goes on without it (`proceed`, the default), or ends with `CHECKPOINT_REQUIRED`
   * (`abort`).
   */
  onCheckpointFailure?: 'proceed' | 'abort' | undefined;
  /** Hears of each failure once; silent by default. */
  logger?: Logger | undefined;
}

/** What became of a sandbox whose plan failed. */
export interface PlanRollback {
  /** Whether it is again what it was at the last checkpoint that this run took. */
  readonly rolledBack: boolean;
  /** What the rollback did: with `undo` it is taken back. Not there when none was made, or it failed. */
  readonly rollback?: RollbackReport;
  /** Why the rollback failed. */
  readonly rollbackError?: unknown;
}

/** What an apply did. */
export interface ApplyReport extends CommitReport, PlanRollback {}
