/**
 * Turnback: checkpoints and exact rollback of an AI agent's workspace.
 *
 * Importing this starts no thread, loads no native code and cannot fail; the native half is loaded when it is first used.
 */
export {
  type CommandGuard,
  type CommandSandbox,
  type OutputChunk,
  type RunBashOptions,
  type RunBashResult,
  runBash,
} from './bash/index.js';
export {
  type CheckedAnswer,
  checkedAnswer,
  type Driver,
  type DriverAnswer,
  type DriverRequest,
} from './drivers/driver.js';
export { type LocalDriver, type LocalDriverOptions, localDriver } from './drivers/local.js';
export type { SpriteCheckpoint } from './drivers/sprites/list.js';
export type { SpriteStream } from './drivers/sprites/stream.js';
export { type SpriteLike, type SpritesDriverOptions, spritesDriver } from './drivers/sprites.js';
export { ERROR_CODES, type ErrorCode, type ErrorParts, isTurnbackError, TurnbackError } from './errors.js';
export {
  type Batch,
  coalesceCheckpointAttempt,
  createGuard,
  type Environment,
  type Guard,
  type GuardClock,
  type GuardOptions,
  isCheckpointBeforeAgentBatchEnabled,
  maybeCheckpointBeforeBatch,
  type Outcome,
  type Reason,
  turnIdOf,
  type Verdict,
} from './guard/index.js';
export type { Logger } from './log.js';
export { CheckpointManager } from './manager.js';
export type { LogLevel } from './native-events.js';
export type { Operation, OperationMessage } from './observe.js';
export type { Path } from './paths.js';
export {
  type ApplyReport,
  PlanApplyService,
  type PlanCheckpoints,
  PlanExecutor,
  type PlanOptions,
  type PlanRollback,
} from './plan/index.js';
export {
  allowedTransitions,
  CHECKPOINT_TIMEOUT_MS,
  type CheckpointState,
  checkpointComment,
  type FlagDecision,
  type FlagEnvironment,
  isLegalTransition,
  parseCheckpointComment,
  resolveFlag,
  type SandboxStatus,
  shouldCheckpoint,
} from './policy.js';
export { type CommandJudgement, isReadOnly, judgeCommand } from './read-only.js';
export {
  type AbandonedReport,
  type AnySandbox,
  type AttachOptions,
  attachSandbox,
  type CleanupReport,
  type CommitOptions,
  type CommitReport,
  type Copied,
  CopyOnWriteSandbox,
  cleanupAbandoned,
  createSandbox,
  type DamagedSandbox,
  GitWorktreeSandbox,
  listDamagedSandboxes,
  listSandboxes,
  type Mechanism,
  NoSandbox,
  type Remains,
  type Sandbox,
  type SandboxInfo,
  SandboxManager,
  type SandboxOptions,
  type SandboxOwner,
  type SandboxStoreOptions,
  type Strategy,
} from './sandbox/index.js';
export type { SandboxOrPath } from './sandbox/target.js';
export type {
  Begun,
  Bounded,
  Change,
  Conflict,
  Coverage,
  CreatedCheckpoint,
  CreateOptions,
  DamagedCheckpoint,
  KeepReason,
  ListedCheckpoint,
  Long,
  OnConflict,
  OpenOptions,
  PendingRestore,
  Phase,
  Progress,
  PruneReport,
  PruneRules,
  RecoveryReport,
  RestoreKind,
  RevertOptions,
  RollbackOptions,
  RollbackReport,
  SandboxCheckpoint,
  Uncovered,
  UsageReport,
  VerifyReport,
} from './types.js';
