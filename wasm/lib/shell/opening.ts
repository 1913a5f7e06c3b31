import { isInvalidArgument } from './error.js';
import type { Gate } from './gate.js';
import type { Host } from './host.js';
import type { CheckedOptions } from './options.js';

export const DEFAULT_PREFIX = 'turnback';

/** The gate of a guard that has a driver. Throws `INVALID_ARGUMENT` for a prefix that cannot be one. */
export function openGate(host: Host, { timeoutMs, prefix }: CheckedOptions): Gate {
  return namingPrefix(host, () => host.openGate({ timeoutMs, prefix, digestKey: digestKey() }));
}

/** Without a driver there is no gate that would refuse a prefix. */
export function checkPrefix(host: Host, { timeoutMs, prefix }: CheckedOptions): void {
  if (prefix !== undefined) host.openGate({ timeoutMs, prefix, digestKey: undefined });
}

/** Does what tells the gate of a prefix. What it refuses is said to be the prefix. */
export function namingPrefix<T>(host: Host, tell: () => T): T {
  try {
    return tell();
  } catch (error) {
    if (!isInvalidArgument(error)) throw error;
    throw host.error('INVALID_ARGUMENT', (error as Error).message, { details: { argument: 'options.prefix' } });
  }
}

function digestKey(): Uint8Array | undefined {
  return typeof crypto === 'undefined' ? undefined : crypto.getRandomValues(new Uint8Array(16));
}
