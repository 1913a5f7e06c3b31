/** The stable codes of this package's errors. */
export type ErrorCode = 'INVALID_ARGUMENT' | 'UNSUPPORTED_PLATFORM' | 'CHECKPOINT_REQUIRED' | 'ABORTED' | 'POISONED';

/** What this package throws. Recognise it with {@link isTurnbackError}, not with `instanceof`, which fails across realms. */
export interface TurnbackError extends Error {
  /** Stable; the message may be reworded. */
  readonly code: ErrorCode;
  /** Whether the same call can succeed later. */
  readonly retryable: boolean;
  /** What the error is about, for programs. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** The same symbol in every realm and in every copy of the packages. */
const MARKER = Symbol.for('turnback.error');

/** What an error says beside its message. */
export interface ErrorParts {
  details?: Record<string, unknown>;
  cause?: unknown;
  retryable?: boolean;
}

class PolicyError extends Error implements TurnbackError {
  override readonly name = 'TurnbackError';
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, { details, cause, retryable }: ErrorParts = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.retryable = retryable ?? false;
    this.details = Object.freeze({ ...details });
    Object.defineProperty(this, MARKER, { value: true });
  }
}

/** Whether `error` was thrown by Turnback, in this realm or another. */
export function isTurnbackError(error: unknown): error is TurnbackError {
  try {
    return typeof error === 'object' && error !== null && MARKER in error && error[MARKER] === true;
  } catch {
    // Whatever was thrown, a proxy that cannot be asked too, is told apart without another error.
    return false;
  }
}

/** @internal Any error of this package. */
export function failure(code: ErrorCode, message: string, parts?: ErrorParts): TurnbackError {
  return new PolicyError(code, message, parts);
}

/** @internal An argument that cannot be used: what it is called, what is wrong with it, and what to pass instead. */
export function invalidArgument(argument: string, message: string): TurnbackError {
  return new PolicyError('INVALID_ARGUMENT', message, { details: { argument } });
}

/** @internal A host that cannot run the module at all. */
export function unsupported(message: string, cause: unknown): TurnbackError {
  return new PolicyError('UNSUPPORTED_PLATFORM', message, { cause });
}

/** @internal Runs a function of the module; what it refuses becomes an error of this package. */
export function refusing<T>(argument: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'INVALID_ARGUMENT') {
      throw invalidArgument(argument, error.message);
    }
    throw error;
  }
}

/** @internal An instance of a module that trapped, or ran out of memory or stack: nothing of it can be trusted any more. */
export function poisoned(name: string, cause: unknown): TurnbackError {
  return new PolicyError(
    'POISONED',
    `the WebAssembly module ${name} of turnback-policy broke (${cause}): what it remembered is lost, and the next call starts it anew; make a new guard, and report this message`,
    { cause },
  );
}
