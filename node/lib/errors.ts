/** Every stable code. A message may be reworded; a code never changes its meaning. */
export const ERROR_CODES = [
  'INVALID_ARGUMENT',
  'NOT_FOUND',
  'NOT_A_DIRECTORY',
  'PERMISSION_DENIED',
  'UNSUPPORTED_PLATFORM',
  'UNSUPPORTED_FILESYSTEM',
  'NATIVE_BINARY_MISSING',
  'WORKSPACE_REPLACED',
  'WORKSPACE_MISMATCH',
  'TOO_BROAD',
  'STORE_NESTED',
  'STORE_UNSAFE',
  'STORE_FORMAT',
  'STORE_FULL',
  'DISK_FULL',
  'CORRUPT',
  'BUSY',
  'ABORTED',
  'TIMED_OUT',
  'IO',
  'ILLEGAL_TRANSITION',
  'UNSAVED_WORK',
  'CONFLICT',
  'GIT_UNSUPPORTED',
  'NOT_UNDOABLE',
  'CHECKPOINT_REQUIRED',
  'POISONED',
] as const;

/** A stable error code. */
export type ErrorCode = (typeof ERROR_CODES)[number];

/** The same symbol in every realm and in every copy of the packages. */
const MARKER = Symbol.for('turnback.error');

/** What an error says beside its message. */
export interface ErrorParts {
  /** Whether the same call can succeed later with nothing changed. */
  retryable?: boolean;
  /** What the error is about, for programs: `advice`, and where there is one `path`, `pathBytes`, `argument`. */
  details?: Record<string, unknown>;
  /** What led to it. */
  cause?: unknown;
}

/**
 * What every function of this package throws or rejects with: a stable `code`, a message of one line that says what was
 * tried and what to do next, and the cause. Recognise it with {@link isTurnbackError}: `instanceof` fails across realms
 * (Jest, `vm`) and across two copies of the package.
 */
export class TurnbackError extends Error {
  override readonly name = 'TurnbackError';
  /** Stable. */
  readonly code: ErrorCode;
  /** Whether the same call can succeed later with nothing changed. */
  readonly retryable: boolean;
  /** What the error is about, for programs. */
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, parts: ErrorParts = {}) {
    super(message, parts.cause === undefined ? undefined : { cause: parts.cause });
    this.code = code;
    this.retryable = parts.retryable ?? false;
    this.details = Object.freeze({ ...parts.details });
    Object.defineProperty(this, MARKER, { value: true });
  }
}

/** Whether `error` was thrown by Turnback, in this realm or another, by this copy of the package or another. */
export function isTurnbackError(error: unknown): error is TurnbackError {
  try {
    return typeof error === 'object' && error !== null && MARKER in error && error[MARKER] === true;
  } catch {
    // Whatever was thrown, a proxy that cannot be asked too, is told apart without another error.
    return false;
  }
}

/** @internal An argument that cannot be used: its name, and one sentence of what is wrong and what to pass instead. */
export function invalidArgument(argument: string, message: string): TurnbackError {
  return new TurnbackError('INVALID_ARGUMENT', message, { details: { argument } });
}
