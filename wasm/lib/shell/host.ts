import type { Gate, GateSettings } from './gate.js';

/** What decided about the flag, and what was odd about it (G3). */
export interface FlagAnswer {
  enabled: boolean;
  reason: string;
  warning?: string;
}

/** The codes of the errors that the shell makes. */
export type ShellErrorCode = 'INVALID_ARGUMENT' | 'CHECKPOINT_REQUIRED' | 'ABORTED';

/** What the shell needs of the package that it works in. It starts nothing before it is asked. */
export interface Host {
  /** A gate that remembers nothing. Throws `INVALID_ARGUMENT` for a prefix that cannot be one. */
  openGate(settings: GateSettings): Gate;
  /** The rule for the flag (G3). */
  resolveFlag(env: { SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH?: string; NODE_ENV?: string }): FlagAnswer;
  /**
   * Whether a command is proven to only read (G14). None where the proof is too large to come along: then who makes a guard has to
   * bring it.
   */
  readonly isReadOnly?: (command: string) => boolean;
  /** An error of the package. */
  error(
    code: ShellErrorCode,
    message: string,
    parts?: { details?: Record<string, unknown>; cause?: unknown; retryable?: boolean },
  ): Error;
}
