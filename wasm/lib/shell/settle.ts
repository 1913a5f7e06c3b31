/** What others give back, and what they do instead: nothing of it may become an error that nobody hears. */

const nothing = () => {};

/**
 * Takes care that the rejection of a value that may be a promise reaches `failed`, and never the process. For whatever a
 * callback returned. `settled` hears of everything else: a promise that is fulfilled, a value that is none.
 */
export function quiet(
  value: unknown,
  failed: (error: unknown) => void = nothing,
  settled: (value: unknown) => void = nothing,
): void {
  try {
    if (isPromise(value)) {
      // Not the value's own `then`: a subclass may have one that hears nothing.
      void Promise.prototype.then.call(value, settled, failed);
    } else if (typeof value === 'object' && value !== null && 'then' in value) {
      void new Promise((resolve) => resolve(value)).then(settled, failed);
    } else {
      settled(value);
    }
  } catch (error) {
    failed(error);
  }
}

/**
 * What `await` gives, of whatever a driver returned: its `then` is read once and called once. One that rejects behind it, or
 * fails in place of listening, has failed; one that fulfils behind it has not, because only its own `then` knows when it is done.
 */
export function outcomeOf(value: unknown): Promise<unknown> {
  return new Promise((resolve, reject) => {
    hearBehind(value, reject);
    const then = thenOf(value);
    if (then === undefined) {
      resolve(value);
      return;
    }
    hearBehind(then.call(value, resolve, reject), reject);
  });
}

/** Hears of a promise's rejection, not by its own `then`. */
function hearBehind(value: unknown, failed: (error: unknown) => void): void {
  if (!isPromise(value)) return;
  try {
    void Promise.prototype.then.call(value, nothing, failed);
  } catch {
    // A proxy of one, say: it has its own `then` only, and that is asked as well.
  }
}

type Then = (resolve: (value: unknown) => void, reject: (error: unknown) => void) => unknown;

function thenOf(value: unknown): Then | undefined {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return undefined;
  const { then } = value as { then?: unknown };
  return typeof then === 'function' ? (then as Then) : undefined;
}

function isPromise(value: unknown): value is Promise<unknown> {
  return value instanceof Promise;
}

/** Whether a property is a function. A getter that throws gives none. */
export function has<Name extends PropertyKey>(value: unknown, name: Name): value is Record<Name, () => unknown> {
  try {
    return typeof (value as Record<Name, unknown>)[name] === 'function';
  } catch {
    return false;
  }
}

/** What anything is called in a message, whatever it is. */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'an error that cannot be shown';
  }
}
