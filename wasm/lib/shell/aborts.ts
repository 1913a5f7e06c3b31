import { quiet } from './settle.js';

/** A signal of somebody's own making may throw; its batch, and all others, get their answers all the same (G5). */
function attempt(call: () => unknown): boolean {
  try {
    quiet(call());
    return true;
  } catch {
    // Then it cannot cancel the batch: the batch's limit still ends it.
    return false;
  }
}

/** Those who hear of one signal. */
interface Heard {
  readonly listeners: Set<() => void>;
  leave(): void;
}

/** Those who wait for signals. Many for one signal cost it one listener: from eleven on Node warns of a leak. */
export class Aborts {
  readonly #heard = new WeakMap<AbortSignal, Heard>();

  /** Calls `listener`, which must not throw, when the signal fires. What this gives back ends that. */
  on(signal: AbortSignal, listener: () => void): () => void {
    const heard = this.#heard.get(signal) ?? this.#listen(signal);
    // Two may be the same function.
    const mine = () => listener();
    heard.listeners.add(mine);
    return () => {
      if (heard.listeners.delete(mine) && heard.listeners.size === 0) heard.leave();
    };
  }

  #listen(signal: AbortSignal): Heard {
    const listeners = new Set<() => void>();
    const forget = () => {
      if (this.#heard.get(signal) === heard) this.#heard.delete(signal);
    };
    const fired = () => {
      forget();
      const all = [...listeners];
      listeners.clear();
      for (const each of all) each();
    };
    const leave = () => {
      forget();
      attempt(() => signal.removeEventListener('abort', fired));
    };
    const heard = { listeners, leave };
    if (attempt(() => signal.addEventListener('abort', fired, { once: true }))) this.#heard.set(signal, heard);
    return heard;
  }
}
