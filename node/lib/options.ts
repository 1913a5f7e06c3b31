/** The arguments and options of the checkpoint functions, checked before they reach Rust. */
import {
  type Check,
  callback,
  deadline,
  flag,
  listOf,
  logger,
  MOST_ID_BYTES,
  oneOf,
  record,
  shortText,
  signal,
  text,
  whole,
} from './check.js';
import { invalidArgument, type TurnbackError } from './errors.js';
import type { NativePair } from './native.js';
import { absolute, pathBytes } from './paths.js';
import type { Phase, Progress } from './types.js';

const LIMITS = {
  metadataKeys: 64,
  keyBytes: 128,
  valueBytes: 4096,
  labelBytes: 200,
  patterns: 1000,
  paths: 10_000,
  ids: 100_000,
};

/** What a checkpoint's id looks like: a ULID, in its one spelling. */
export const CHECKPOINT_ID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** A checkpoint's id. The message never repeats what was given: it may be a megabyte. */
export const checkpointId: Check<string> = (name, value) => {
  if (typeof value === 'string' && CHECKPOINT_ID.test(value)) return value;
  throw noCheckpointId(name, name);
};

/** The error of an argument that is no checkpoint's id; `what` stands for it in the message. */
export const noCheckpointId = (name: string, what: string): TurnbackError =>
  invalidArgument(
    name,
    `${what} is no checkpoint id: an id is 26 of the characters 0-9 and A-Z without I, L, O and U, as listCheckpoints() and the command list give it`,
  );

/** A plan's or sandbox's id. */
export const nameId = shortText(MOST_ID_BYTES);
export const label = shortText(LIMITS.labelBytes);

const PHASES = ['pre_execute', 'post_execute', 'pre_apply', 'pre_batch', 'pre_rollback', 'manual'] as const;
export const phase: Check<Phase> = oneOf(...PHASES);

/** Metadata as pairs: at most 64 keys of 1 to 128 bytes, values of at most 4 KiB. */
export const metadata: Check<NativePair[]> = (name, value) => {
  if (value === undefined) return [];
  const entries = Object.entries(record(name, value));
  if (entries.length > LIMITS.metadataKeys) {
    throw invalidArgument(name, `${name} has ${entries.length} keys: it takes at most ${LIMITS.metadataKeys}`);
  }
  return entries.map(([key, given]) => {
    shortText(LIMITS.keyBytes)(`a key of ${name}`, key);
    const content = text(`${name}[${JSON.stringify(key)}]`, given);
    const bytes = Buffer.byteLength(content);
    if (bytes > LIMITS.valueBytes) {
      throw invalidArgument(
        name,
        `${name}[${JSON.stringify(key)}] has ${bytes} bytes: it takes at most ${LIMITS.valueBytes}`,
      );
    }
    return { key, value: content };
  });
};

/** Several of them. */
export const checkpointIds = listOf(checkpointId, LIMITS.ids);

const pattern: Check<string> = (name, value) => {
  const given = text(name, value);
  if (given === '' || given.includes('\0') || Buffer.byteLength(given) > LIMITS.valueBytes) {
    throw invalidArgument(name, `${name} is no pattern: pass 1 to ${LIMITS.valueBytes} bytes of gitignore syntax`);
  }
  return given;
};

export const LONG = { signal, onProgress: callback<(progress: Progress) => void>() };

/** The smallest cap of a store, in bytes, as in the engine (`engine/src/store/budget.rs`): below it a store could not even be made. */
const MIN_STORE_BYTES = 256 * 1024;

export const BOUNDED = { ...LONG, deadlineMs: deadline };

export const OPEN = {
  store: (name: string, value: unknown) => (value === 'ephemeral' ? 'ephemeral' : absolute(name, value)),
  durability: oneOf('power', 'process'),
  strict: flag,
  maxBytes: whole(MIN_STORE_BYTES),
  onFull: oneOf('prune', 'fail'),
  logger,
  logLevel: oneOf('error', 'warn', 'info', 'debug', 'trace'),
};

export const CREATE = {
  deadlineMs: deadline,
  label,
  exclude: listOf(pattern, LIMITS.patterns),
  excludeIgnored: flag,
  maxFileBytes: whole(0),
  maxFiles: whole(0),
  allowBroad: flag,
  ...LONG,
};

export const ROLLBACK = {
  dryRun: flag,
  paths: listOf(pathBytes, LIMITS.paths),
  into: absolute,
  git: oneOf('keep', 'exact'),
  allowReplacedRoot: flag,
  safety: flag,
  ...BOUNDED,
};

export const REVERT = {
  onConflict: oneOf('fail', 'ours', 'theirs'),
  dryRun: flag,
  paths: listOf(pathBytes, LIMITS.paths),
  git: oneOf('keep', 'exact'),
  allowReplacedRoot: flag,
  safety: flag,
  ...BOUNDED,
};

export const PRUNE = { keepLast: whole(0), keepWithinMs: whole(0), maxBytes: whole(0), all: flag, dryRun: flag };
