import { anObject, aString } from './check.js';
import { policy } from './loader.js';

/** The part of the environment that decides; `process.env` fits. */
export interface FlagEnvironment {
  SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH?: string | undefined;
  NODE_ENV?: string | undefined;
}

/** What decided about the flag. */
export type FlagReason = 'explicit_true' | 'explicit_false' | 'not_production' | 'production';

/** Whether the guard makes checkpoints, why, and what was odd about the setting. */
export interface FlagDecision {
  enabled: boolean;
  reason: FlagReason;
  /** The flag holds a value that means nothing; to be logged once. */
  warning?: string;
}

/**
 * Whether the guard makes checkpoints (G3): the flag, exactly `true` or `false`, wins; otherwise they are on outside production.
 *
 * @throws TurnbackError with code `INVALID_ARGUMENT` when `env` is not an object or a value in it is not a string
 */
export function resolveFlag(env: FlagEnvironment): FlagDecision {
  const values = anObject('env', env);
  const value = (name: keyof FlagEnvironment) => {
    const text = values[name];
    return text === undefined ? undefined : aString(`env.${name}`, text);
  };
  return policy().resolveFlag(value('SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH'), value('NODE_ENV')) as FlagDecision;
}
