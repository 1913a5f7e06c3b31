/** Those who wait for a signal. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `listener`, which must not throw, once when the signal fires; what this gives back ends that. All who wait for a signal share one
 * listener of it: from eleven on Node warns of a leak, and an agent's parallel tools have one signal.
 */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const all = waiting.get(signal) ?? listen(signal);
  // Two may be the same function.
  const mine = () => listener();
  all.add(mine);
  return () => {
    all.delete(mine);
    if (all.size > 0 || waiting.get(signal) !== all) return;
    waiting.delete(signal);
    signal.removeEventListener('abort', fired);
  };
}

function listen(signal: AbortSignal): Set<() => void> {
  const all = new Set<() => void>();
  signal.addEventListener('abort', fired, { once: true });
  waiting.set(signal, all);
  return all;
}

/** One function for all signals: adding it twice to one is adding it once. */
function fired(this: AbortSignal): void {
  const all = [...(waiting.get(this) ?? [])];
  waiting.delete(this);
  for (const each of all) each();
}
