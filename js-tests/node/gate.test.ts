// G1-G10, P5: the gate's scripts through the addon. The gate is no part of the package's surface: it is taken from the addon.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type * as native from '../../node/dist/native.js';
import { refusesNonsense, replayScripts, type ScriptedGate, type ScriptOptions } from '../vectors/gate-scripts.js';
import { thrownBy } from '../wasm/vectors.js';
import { PACKAGE } from './support.js';

const { Gate }: typeof native = createRequire(import.meta.url)(join(PACKAGE, 'turnback.node'));

/** A refusal crosses as data; the package makes an error of it, and so does this. */
function open({ timeoutMs, prefix }: ScriptOptions): ScriptedGate {
  const gate = new Gate(timeoutMs, prefix);
  return {
    handle: (input, nowMs) => {
      const answer = gate.handle(input, nowMs);
      if (typeof answer === 'string') return answer;
      throw Object.assign(new Error(answer.message), { code: answer.failureCode });
    },
    passCovered: (sandboxId, turnId, nowMs) => gate.passCovered(sandboxId, turnId, nowMs),
  };
}

describe('the gate in the addon', () => {
  replayScripts(open);
  refusesNonsense(open);

  it('takes a digest key of 16 bytes, on which no answer depends', () => {
    const [one, other] = [new Gate(), new Gate(undefined, undefined, new Uint8Array(16).fill(7))];
    const input = JSON.stringify({ type: 'batch', batch: 1, sandboxId: 's', turnId: 't' });
    expect(one.handle(input, 0)).toBe(other.handle(input, 0));
    expect(thrownBy(() => new Gate(undefined, undefined, new Uint8Array(15)))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});
