import type { Host } from './host.js';

const underWay = new Map<string, Promise<unknown>>();

/**
 * Runs `attempt`, unless one of the same key is under way: then its result is shared (G4). The key is taken in the same tick,
 * and free again when the attempt has settled. One that never settles keeps its key for ever: give it a limit of its own, as
 * `AbortSignal.timeout` does; the guard does all that by itself.
 */
export function coalesceCheckpointAttempt<T>(host: Host, key: string, attempt: () => Promise<T>): Promise<T> {
  if (typeof key !== 'string') return refused(host, 'key', 'key is no string: pass one for each (sandbox, turn)');
  if (typeof attempt !== 'function') return refused(host, 'attempt', 'attempt is no function: pass one');
  const shared = underWay.get(key);
  if (shared !== undefined) return shared as Promise<T>;
  let settle: (result: Promise<T>) => void = () => {};
  const promise = new Promise<T>((resolve) => {
    settle = resolve;
  }).finally(() => underWay.delete(key));
  // Before the attempt is run: it may ask again.
  underWay.set(key, promise);
  settle((async () => await attempt())());
  return promise;
}

function refused(host: Host, argument: string, message: string): Promise<never> {
  return Promise.reject(host.error('INVALID_ARGUMENT', message, { details: { argument } }));
}
