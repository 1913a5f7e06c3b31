import type { GuardClock } from './clock.js';
import type { Driver } from './driver.js';
import { isInvalidArgument } from './error.js';
import type { Host } from './host.js';
import { LEVELS, type Logger } from './log.js';
import type { Proof } from './read-only.js';
import { has as hasOne } from './settle.js';

/** How long a checkpoint before a batch may take before the batch runs without it (G5, G7). */
export const CHECKPOINT_TIMEOUT_MS = 10_000;

/** The longest delay that a timer takes, in milliseconds (24 days). */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** What a guard can be told. */
export interface GuardOptions {
  /** What makes the checkpoints. Without one every batch is skipped (G7). */
  driver?: Driver | undefined;
  /** How long a batch waits at most, queueing included (G5): 10,000 ms by default. */
  timeoutMs?: number | undefined;
  /**
   * Whether checkpoints are made, asked at each batch. By default the environment says so (G3):
   * `isCheckpointBeforeAgentBatchEnabled()`. If it throws, or gives no boolean, the environment decides too.
   */
  enabled?: (() => boolean) | undefined;
  /**
   * `'proceed'` (the default): a batch without a checkpoint runs, and its verdict says so. `'block'`: `beforeBatch` rejects
   * with `CHECKPOINT_REQUIRED` instead, for every verdict without protection except a deliberate one (the flag is off, the
   * store is paused, there is no driver, no turn id, the batch only reads).
   */
  onFailure?: 'proceed' | 'block' | undefined;
  /**
   * `'always'` (the default). `'unless_read_only'`: a batch with a `command` that is proven to only read needs no checkpoint and costs
   * no I/O; it leaves no trace on its turn. Everything else is treated as always, a batch without a `command` too (G14).
   */
  when?: 'always' | 'unless_read_only' | undefined;
  /**
   * The proof for `'unless_read_only'`. The package `turnback` has one and takes that by default; with `turnback-policy` pass the
   * `isReadOnly` of `turnback-policy/read-only`, which is a second, larger WebAssembly module. If it throws, or gives no boolean,
   * nothing is proven.
   */
  isReadOnly?: ((command: string) => boolean) | undefined;
  /** How the checkpoints' comments begin: 1 to 64 visible ASCII characters, `turnback` by default (G2). */
  prefix?: string | undefined;
  /** Hears of failures and time-outs as warnings, once each. Silent by default. */
  logger?: Logger | undefined;
  /** For tests and simulations: another clock. */
  clock?: GuardClock | undefined;
}

/** Options, checked. */
export interface CheckedOptions {
  driver: Driver | undefined;
  timeoutMs: number;
  enabled: (() => boolean) | undefined;
  block: boolean;
  /** Set when batches that only read need no checkpoint. */
  proof: Proof | undefined;
  prefix: string | undefined;
  logger: Logger | undefined;
  clock: GuardClock | undefined;
}

const NAMES = ['driver', 'timeoutMs', 'enabled', 'onFailure', 'when', 'isReadOnly', 'prefix', 'logger', 'clock'];

const isObject = (value: unknown) => typeof value === 'object' && value !== null;

const has = (value: unknown, ...methods: string[]) =>
  isObject(value) && methods.every((method) => hasOne(value, method));

/** Whether something can be logged to. */
export const isLogger = (value: unknown): value is Logger => has(value, ...LEVELS);

/**
 * The options, or `INVALID_ARGUMENT`; also where an option cannot even be read.
 */
export function checkedOptions(host: Host, given: unknown, lenient: boolean): CheckedOptions {
  try {
    return checked(host, given, lenient);
  } catch (cause) {
    if (isInvalidArgument(cause)) throw cause;
    throw host.error('INVALID_ARGUMENT', 'options cannot be read: pass a plain object', {
      details: { argument: 'options' },
      cause,
    });
  }
}

/**
 * The options, or `INVALID_ARGUMENT`. Unless it is `lenient`, an unknown name is refused, because a misspelt option would
 * silently do nothing.
 */
function checked(host: Host, given: unknown, lenient: boolean): CheckedOptions {
  const refuse = (name: string, advice: string): never => {
    throw host.error('INVALID_ARGUMENT', `options.${name} ${advice}`, { details: { argument: `options.${name}` } });
  };
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw host.error('INVALID_ARGUMENT', 'options is no object: pass an object', { details: { argument: 'options' } });
  }
  const unknown = lenient ? undefined : Object.keys(given).find((name) => !NAMES.includes(name));
  if (unknown !== undefined) {
    const shown = JSON.stringify(unknown.length > 40 ? `${unknown.slice(0, 40)}…` : unknown);
    throw host.error('INVALID_ARGUMENT', `options has no ${shown}: it takes ${NAMES.join(', ')}`, {
      details: { argument: 'options' },
    });
  }
  const options = given as GuardOptions;
  const driver = options.driver ?? undefined;
  const timeoutMs = options.timeoutMs ?? CHECKPOINT_TIMEOUT_MS;
  const { enabled, onFailure = 'proceed', when = 'always', isReadOnly, prefix, logger, clock } = options;
  if (driver !== undefined && !has(driver, 'createCheckpoint')) refuse('driver', 'has no method createCheckpoint');
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMER_MS) {
    refuse('timeoutMs', `is not a whole number from 1 to ${MAX_TIMER_MS}`);
  }
  if (enabled !== undefined && typeof enabled !== 'function') refuse('enabled', 'is no function: pass () => boolean');
  if (onFailure !== 'proceed' && onFailure !== 'block') refuse('onFailure', 'is neither proceed nor block');
  if (when !== 'always' && when !== 'unless_read_only') refuse('when', 'is neither always nor unless_read_only');
  if (isReadOnly !== undefined && typeof isReadOnly !== 'function') {
    refuse('isReadOnly', 'is no function: pass (command) => boolean');
  }
  const proof = when === 'always' ? undefined : (isReadOnly ?? host.isReadOnly);
  if (when === 'unless_read_only' && proof === undefined) {
    refuse(
      'when',
      "is 'unless_read_only', but there is no proof here: pass the isReadOnly of turnback-policy/read-only as options.isReadOnly",
    );
  }
  if (prefix !== undefined && typeof prefix !== 'string') refuse('prefix', 'is no string');
  if (logger !== undefined && !isLogger(logger)) {
    refuse('logger', `is no logger: pass an object with the methods ${LEVELS.join(', ')}`);
  }
  if (clock !== undefined && !has(clock, 'now', 'schedule')) {
    refuse('clock', 'is no clock: pass an object with the methods now and schedule');
  }
  return { driver, timeoutMs, enabled, block: onFailure === 'block', proof, prefix, logger, clock };
}
