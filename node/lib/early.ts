/** Checkpoints that are made, while the call that makes them has something left to note for the next one. */
import type { NativeCreated } from './native.js';

const TAKE = new WeakMap<AbortSignal, () => NativeCreated | undefined>();

/** Keeps what answers a call early, by the signal that the call was given. */
export function noteEarly(signal: AbortSignal | undefined, take: () => NativeCreated | undefined): void {
  if (signal !== undefined) TAKE.set(signal, take);
}

/** Ends the call that has this signal with its success, if that is certain; `undefined` when it is not, or when there is no such call. */
export function takeEarly(signal: AbortSignal): NativeCreated | undefined {
  return TAKE.get(signal)?.();
}
