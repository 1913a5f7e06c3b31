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

function isPromise(value: unknown): value is Promise<unknown> {
  return value instanceof Promise;
}

/** Whether a property is a function. A getter that throws gives none. */
export function has<Name extends string>(value: unknown, name: Name): value is Record<Name, () => unknown> {
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
