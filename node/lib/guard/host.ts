/** What the guard's shell needs of this package: the native gate, or that of `turnback-policy` where there is no addon (X5). */
import { createRequire } from 'node:module';
import type { Gate, GateSettings, Host } from 'turnback-policy/shell';
import { type Addon, addonIfAny } from '../addon.js';
import { invalidArgument, TurnbackError } from '../errors.js';
import { unwrap } from '../failure.js';
import { resolveFlag } from '../policy.js';
import { isReadOnly } from '../read-only.js';

export const HOST: Host = {
  openGate: (settings) => {
    const addon = addonIfAny();
    return addon === undefined ? portable(settings) : native(addon, settings);
  },
  resolveFlag,
  isReadOnly,
  error: (code, message, parts) => new TurnbackError(code, message, parts),
};

function native(addon: Addon, { timeoutMs, prefix, digestKey }: GateSettings): Gate {
  const gate = open(() => new addon.Gate(timeoutMs, prefix, digestKey));
  return {
    handle: (input, nowMs) => unwrap(gate.handle(input, nowMs)),
    passCovered: (sandboxId, turnId, nowMs) => gate.passCovered(sandboxId, turnId, nowMs),
  };
}

/** A constructor of the addon can only throw: what it refuses becomes an error of this package. */
function open<T>(make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'INVALID_ARGUMENT') {
      throw invalidArgument('options.prefix', error.message);
    }
    throw error;
  }
}

function portable(settings: GateSettings): Gate {
  const { openGate } = createRequire(import.meta.url)('turnback-policy/gate') as {
    openGate: (settings: GateSettings) => Gate;
  };
  return openGate(settings);
}
