import type { Driver, DriverRequest } from 'turnback-policy/shell';
import { node } from '../builtin.js';

/** What is known of a driver's attempt. */
export interface Attempt {
  readonly beganMs: number;
  /** When the driver answered, and how; nothing yet while it has not. */
  answer?: { atMs: number; succeeded: boolean };
}

/** What hears of attempts. */
export interface Attempts {
  now(): number;
  /** An attempt begins, for this sandbox and turn. Must not throw. */
  began(sandboxId: string, turnId: string | undefined, attempt: Attempt): void;
}

/** Where the guard keeps what an attempt is for. */
const FACTS = Symbol.for('turnback.attempt');

/**
 * The same driver, with every attempt told. Everything else of it works as before, also what it does with its own private fields, and a
 * promise of its own is what the guard gets: the guard may know more of it than others.
 */
export function measured(driver: Driver, attempts: Attempts): Driver {
  const createCheckpoint = (request: DriverRequest): ReturnType<Driver['createCheckpoint']> => {
    const attempt: Attempt = { beganMs: attempts.now() };
    attempts.began(request.sandboxId, turnOf(request.signal), attempt);
    const answer = driver.createCheckpoint(request);
    // Another's `then` may do something each time that it is called.
    if (node.util.types.isPromise(answer)) {
      const settled = (succeeded: boolean) => {
        attempt.answer ??= { atMs: attempts.now(), succeeded };
      };
      void Promise.prototype.then.call(
        answer,
        (value) => settled(isCheckpoint(value)),
        () => settled(false),
      );
    }
    return answer;
  };
  // Not a proxy of the driver itself: one that is frozen has to give its own method.
  return new Proxy({} as Driver, {
    has: (_, name) => Reflect.has(driver, name),
    get: (_, name) => {
      if (name === 'createCheckpoint') return createCheckpoint;
      const value: unknown = Reflect.get(driver, name);
      return typeof value === 'function' ? (...args: unknown[]) => Reflect.apply(value, driver, args) : value;
    },
  });
}

function turnOf(signal: AbortSignal): string | undefined {
  const facts = (signal as { [FACTS]?: { turnId?: unknown } })[FACTS];
  return typeof facts?.turnId === 'string' ? facts.turnId : undefined;
}

/** Whether a driver's answer may be a checkpoint. The guard looks closer, and what it says of the batch counts more. */
function isCheckpoint(value: unknown): boolean {
  return (
    value === undefined ||
    (typeof value === 'object' && value !== null && !('paused' in value && value.paused === true))
  );
}
