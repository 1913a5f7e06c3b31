// G1-G10, P5: the gate's scripts through the wasm build. The gate is no part of the package's surface: it is taken from the
// built package's own loader.
import { describe, expect, it } from 'vitest';
import { policy } from '../../wasm/dist/loader.js';
import { refusesNonsense, replayScripts, type ScriptOptions } from '../vectors/gate-scripts.js';
import { thrownBy } from './vectors.js';

function open({ timeoutMs, prefix }: ScriptOptions) {
  const { Gate } = policy();
  return new Gate(timeoutMs, prefix);
}

describe('the gate in wasm', () => {
  replayScripts(open);
  refusesNonsense(open);

  it('takes a digest key of 16 bytes, on which no answer depends', () => {
    const { Gate } = policy();
    const [one, other] = [new Gate(), new Gate(undefined, undefined, new Uint8Array(16).fill(7))];
    const input = JSON.stringify({ type: 'batch', batch: 1, sandboxId: 's', turnId: 't' });
    expect(one.handle(input, 0)).toBe(other.handle(input, 0));
    expect(thrownBy(() => new Gate(undefined, undefined, new Uint8Array(15)))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });
});
