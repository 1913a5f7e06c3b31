/** The arguments of plans, checked before anything is done. */
import { type Check, logger, oneOf, options } from '../check.js';
import { invalidArgument } from '../errors.js';
import { type Logger, safely } from '../log.js';
import { nameId } from '../options.js';
import type { PlanCheckpoints, PlanOptions } from './types.js';

/** Settings that hold. */
export interface Checked {
  manager: PlanCheckpoints | undefined;
  onFailure: 'proceed' | 'abort';
  log: Logger;
}

/** An object with these methods. */
function withMethods<T extends object>(what: string, ...methods: (keyof T & string)[]): Check<T> {
  return (name, value) => {
    if (typeof value === 'object' && value !== null) {
      const has = value as Record<string, unknown>;
      if (methods.every((method) => typeof has[method] === 'function')) return value as T;
    }
    throw invalidArgument(name, `${name} is ${what}`);
  };
}

const SPEC = {
  checkpointManager: withMethods<PlanCheckpoints>(
    'no CheckpointManager: pass what CheckpointManager.open() gave, or leave it out',
    'createCheckpoint',
    'rollbackTo',
  ),
  onCheckpointFailure: oneOf('proceed', 'abort'),
  logger,
};

/** @throws TurnbackError `INVALID_ARGUMENT` */
export function checkedSettings(given: PlanOptions | undefined): Checked {
  const { checkpointManager, onCheckpointFailure = 'proceed', logger: log } = options('options', SPEC, given);
  return { manager: checkpointManager, onFailure: onCheckpointFailure, log: safely(log) };
}

/**
 * A sandbox that can do one thing.
 *
 * @throws TurnbackError `INVALID_ARGUMENT`
 */
export function checkedSandbox<T extends { readonly id: string }>(sandbox: T, method: keyof T & string): void {
  withMethods<T>('no sandbox: pass what createSandbox() gave', method)('sandbox', sandbox);
  nameId('sandbox.id', sandbox.id);
}
