/**
 * Turnback's policy layer for browsers, workers, bundlers and Node: pure functions, the same answers everywhere (P1, P2).
 * There is nothing to initialise: every function works as soon as it is imported.
 */
export { checkpointComment, parseCheckpointComment } from './comment.js';
export { type ErrorCode, isTurnbackError, type TurnbackError } from './error.js';
export { type FlagDecision, type FlagEnvironment, type FlagReason, resolveFlag } from './flag.js';
export {
  type Batch,
  coalesceCheckpointAttempt,
  createGuard,
  type Driver,
  type DriverAnswer,
  type DriverRequest,
  type Environment,
  type GateReason,
  type Guard,
  type GuardClock,
  type GuardOptions,
  isCheckpointBeforeAgentBatchEnabled,
  type Logger,
  maybeCheckpointBeforeBatch,
  type Outcome,
  type Reason,
  turnIdOf,
  type Verdict,
} from './guard.js';
export { allowedTransitions, isLegalTransition, type SandboxStatus } from './lifecycle.js';
export { CHECKPOINT_TIMEOUT_MS, type CheckpointState, shouldCheckpoint } from './policy.js';
export type {
  AttemptEvent,
  BatchEvent,
  DriverModel,
  Latency,
  Policy,
  PolicyKind,
  RecordedAttempt,
  Retention,
  Scenario,
  ScenarioBatch,
  Simulation,
  Summary,
  TraceEvent,
} from './simulate/index.js';
export { simulate } from './simulate/simulate.js';
