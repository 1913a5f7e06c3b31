import { refusing } from './error.js';
import { policy } from './loader.js';
import type { Gate, GateSettings } from './shell/index.js';

/**
 * The gate as WebAssembly. Not for callers: the guard's shell runs it, here and in the package `turnback` where that has no
 * native code.
 */
export function openGate({ timeoutMs, prefix, digestKey }: GateSettings): Gate {
  return refusing('prefix', () => new (policy().Gate)(timeoutMs, prefix, digestKey));
}
