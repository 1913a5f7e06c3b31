// P2, issue 7: should the module trap all the same, that is an exception, and the next call has a fresh instance.
import { createGuard, isTurnbackError, shouldCheckpoint } from 'turnback-policy';
import { simulate } from 'turnback-policy/simulate';
import { describe, expect, it } from 'vitest';
import { policy } from '../../wasm/dist/loader.js';
import { thrownBy } from './vectors.js';

const state = { flagEnabled: true, turnId: 't', lastCheckpointTurnId: null };
const scenario = {
  version: 1 as const,
  batches: [{ sandbox: 's', turn: 't', startMs: 0, durationMs: 1, kind: 'destructive' as const }],
};
const BATCH = JSON.stringify({ type: 'batch', batch: 1, sandboxId: 's', turnId: 't' });

/** More numbers than a module's memory can hold: nothing is written into them, so that they take none of this process's. */
const tooMany = () => new Float64Array(2 ** 29 - 1);

const POISONED = {
  name: 'TurnbackError',
  code: 'POISONED',
  retryable: false,
  message: expect.stringMatching(/^the WebAssembly module policy of turnback-policy broke \(.+\): .+make a new guard/),
};

describe('out of memory', () => {
  it('is an exception with a code and a cause', () => {
    const error = thrownBy(() => policy().simulate(tooMany()));
    expect(error).toMatchObject(POISONED);
    expect(isTurnbackError(error)).toBe(true);
    expect((error as Error).cause).toBeInstanceOf(Error);
  });
  it('the next call has a fresh instance, with a memory of its own', () => {
    const before = policy();
    expect(thrownBy(() => before.simulate(tooMany()))).toMatchObject(POISONED);
    expect(policy()).not.toBe(before);
    expect(shouldCheckpoint(state)).toBe(true);
    expect(simulate(scenario).summaries[0]?.checkpoints).toBe(1);
    expect(policy()).toBe(policy());
  });
  it('what belongs to the broken instance says so, and never enters it again', () => {
    const broken = policy();
    const gate = new broken.Gate();
    expect(thrownBy(() => broken.simulate(tooMany()))).toMatchObject(POISONED);
    expect(thrownBy(() => gate.handle(BATCH, 0))).toMatchObject(POISONED);
    expect(thrownBy(() => gate.passCovered('s', 't', 0))).toMatchObject(POISONED);
    expect(thrownBy(() => broken.shouldCheckpoint(true, 't'))).toMatchObject(POISONED);
    // As the garbage collector does it, where nobody would hear of an error.
    expect(() => gate.free()).not.toThrow();
    expect(new (policy().Gate)().handle(BATCH, 0)).toContain('"start"');
  });
  it('a guard of the broken instance lets its batches through without protection; a new one protects', async () => {
    const driver = { createCheckpoint: async () => ({ checkpointId: 'c' }) };
    const errors: string[] = [];
    const logger = { debug() {}, info() {}, warn: (_: object, message: string) => errors.push(message), error() {} };
    const guard = createGuard({ driver, logger, enabled: () => true });
    expect(await guard.beforeBatch({ sandboxId: 's', turnId: 'a' })).toMatchObject({ outcome: 'created' });
    expect(thrownBy(() => policy().simulate(tooMany()))).toMatchObject(POISONED);
    const verdict = { outcome: 'failed', reason: 'guard_failed', protected: false };
    expect(await guard.beforeBatch({ sandboxId: 's', turnId: 'b' })).toMatchObject(verdict);
    expect(errors).toHaveLength(1);
    const other = createGuard({ driver, enabled: () => true });
    expect(await other.beforeBatch({ sandboxId: 's', turnId: 'b' })).toMatchObject({ outcome: 'created' });
  });
});

it('out of stack: the module works again once there is room', () => {
  let seen = 0;
  const deeper = (): void => {
    // The call is made at each depth, so that it is also made where the stack ends within the module.
    try {
      shouldCheckpoint(state);
    } catch {
      seen++;
    }
    deeper();
  };
  expect(thrownBy(deeper)).toBeInstanceOf(RangeError);
  expect(seen).toBeGreaterThan(0);
  expect(shouldCheckpoint(state)).toBe(true);
  expect(simulate(scenario).trace).toHaveLength(2);
});
