/**
 * The guard's shell: it joins the gate (`core`, native or as WebAssembly), which decides, with a driver, a clock and those who
 * wait. It loads neither: each package gives it a {@link Host}. Not a public entry point; both packages export what is.
 */
import type { Batch } from './batch.js';
import { coalesceCheckpointAttempt } from './coalesce.js';
import { type CheckedAnswer, checkedAnswer } from './driver.js';
import { type Environment, isCheckpointBeforeAgentBatchEnabled } from './flag.js';
import { ShellGuard } from './guard.js';
import type { Host } from './host.js';
import { MaybeGuards } from './maybe.js';
import { checkedOptions, type GuardOptions } from './options.js';
import type { Guard } from './surface.js';
import { turnIdOf } from './turn.js';
import type { Verdict } from './verdict.js';

export type { Batch } from './batch.js';
export type { GuardClock } from './clock.js';
export type { AttemptFacts, CheckedAnswer, Driver, DriverAnswer, DriverRequest } from './driver.js';
export type { Environment } from './flag.js';
export type { Gate, GateReason, GateSettings, GateVerdict, Input, Outcome, Output, Start, Timeout } from './gate.js';
export type { FlagAnswer, Host, ShellErrorCode } from './host.js';
export type { Logger } from './log.js';
export { CHECKPOINT_TIMEOUT_MS, type GuardOptions } from './options.js';
export type { Guard } from './surface.js';
export type { Reason, Verdict } from './verdict.js';

/** What a package makes of the shell. */
export interface Shell {
  createGuard(options: GuardOptions): Guard;
  maybeCheckpointBeforeBatch(deps: GuardOptions | null | undefined, batch: Batch): Promise<Verdict>;
  coalesceCheckpointAttempt<T>(key: string, attempt: () => Promise<T>): Promise<T>;
  turnIdOf(context: object): string;
  isCheckpointBeforeAgentBatchEnabled(env?: Environment): boolean;
  checkedAnswer(value: unknown): CheckedAnswer;
}

/** The shell in a package. Starts nothing. */
export function shellOf(host: Host): Shell {
  const guards = new MaybeGuards(host);
  return {
    createGuard: (options) => new ShellGuard(host, checkedOptions(host, options, false)),
    maybeCheckpointBeforeBatch: (deps, batch) => guards.before(deps, batch),
    coalesceCheckpointAttempt: (key, attempt) => coalesceCheckpointAttempt(host, key, attempt),
    turnIdOf: (context) => turnIdOf(host, context),
    checkedAnswer: (value) => checkedAnswer(host, value),
    isCheckpointBeforeAgentBatchEnabled: (env) => isCheckpointBeforeAgentBatchEnabled(host, env),
  };
}
