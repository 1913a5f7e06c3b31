import { refusing } from './error.js';
import { policy } from './loader.js';
import type { Gate, GateSettings } from './shell/index.js';

interface Gates {
  Gate: new (timeoutMs: number, prefix?: string, digestKey?: Uint8Array) => Gate;
}

/**
 * The gate as WebAssembly. Not for callers: the guard's shell runs it, here and in the package `turnback` where that has no
 * native code.
 */
export function openGate({ timeoutMs, prefix, digestKey }: GateSettings): Gate {
  return refusing('prefix', () => new (policy() as unknown as Gates).Gate(timeoutMs, prefix, digestKey));
}
