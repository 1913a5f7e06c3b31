// P2: what JavaScript can pass and the types forbid is refused in a sentence, and the module works on afterwards.
import * as policy from 'turnback-policy';
import { measuredDriver, policyName } from 'turnback-policy/simulate';
import { describe, expect, it } from 'vitest';
import { thrownBy } from './vectors.js';

/** Calls a function as JavaScript can: with anything. */
const loosely = (call: unknown, ...args: unknown[]) =>
  thrownBy(() => (call as (...args: unknown[]) => unknown)(...args));
/** An object that cannot be asked what it is. */
function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
const state = { flagEnabled: true, turnId: 't1', lastCheckpointTurnId: null };

describe('arguments of the wrong type', () => {
  it.each<[string, unknown, unknown[], string]>([
    ['shouldCheckpoint', policy.shouldCheckpoint, [], 'state is undefined where an object is needed: pass an object'],
    ['shouldCheckpoint', policy.shouldCheckpoint, [null], 'state is null where an object is needed: pass an object'],
    [
      'shouldCheckpoint',
      policy.shouldCheckpoint,
      [{ ...state, flagEnabled: 'true' }],
      'flagEnabled is string where a boolean is needed: pass true or false',
    ],
    [
      'shouldCheckpoint',
      policy.shouldCheckpoint,
      [{ ...state, turnId: 7 }],
      'turnId is number where a string is needed: pass a string',
    ],
    [
      'shouldCheckpoint',
      policy.shouldCheckpoint,
      [{ flagEnabled: true, turnId: 't1' }],
      'lastCheckpointTurnId is undefined where a string is needed: pass a string',
    ],
    ['checkpointComment', policy.checkpointComment, [], 'turnId is undefined where a string is needed: pass a string'],
    [
      'checkpointComment',
      policy.checkpointComment,
      ['t1', null],
      'prefix is null where a string is needed: pass a string',
    ],
    [
      'parseCheckpointComment',
      policy.parseCheckpointComment,
      [['turnback-pre-agent-1']],
      'comment is an array where a string is needed: pass a string',
    ],
    ['resolveFlag', policy.resolveFlag, [], 'env is undefined where an object is needed: pass an object'],
    [
      'resolveFlag',
      policy.resolveFlag,
      [{ SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: true }],
      'env.SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH is boolean where a string is needed: pass a string',
    ],
    [
      'resolveFlag',
      policy.resolveFlag,
      [{ NODE_ENV: null }],
      'env.NODE_ENV is null where a string is needed: pass a string',
    ],
    [
      'isLegalTransition',
      policy.isLegalTransition,
      ['ACTIVE'],
      'to is undefined where a string is needed: pass a string',
    ],
    [
      'allowedTransitions',
      policy.allowedTransitions,
      [Symbol('ACTIVE')],
      'from is symbol where a string is needed: pass a string',
    ],
    [
      'parseCheckpointComment',
      policy.parseCheckpointComment,
      [revoked()],
      'comment is a revoked proxy where a string is needed: pass a string',
    ],
    ['measuredDriver', measuredDriver, [], 'scenario is undefined where an object is needed: pass an object'],
    ['measuredDriver', measuredDriver, [{}], 'scenario.batches is undefined where an array is needed: pass an array'],
    [
      'measuredDriver',
      measuredDriver,
      [{ batches: [{}, null] }],
      'scenario.batches[1] is null where an object is needed: pass an object',
    ],
    ['policyName', policyName, [null], 'policy is null where an object is needed: pass an object'],
    [
      'policyName',
      policyName,
      [{ kind: 'toString' }],
      'policy.kind is none: pass interval, per_turn, every_batch, last_turn_only, shared_across_turns, never',
    ],
  ])('%s refuses them: %#', (_name, call, args, message) => {
    const error = loosely(call, ...args);
    expect(error).toMatchObject({ name: 'TurnbackError', code: 'INVALID_ARGUMENT', message });
    expect(policy.isTurnbackError(error)).toBe(true);
    expect(policy.shouldCheckpoint(state)).toBe(true);
  });
});

describe('G2: turn ids that UTF-8 cannot hold', () => {
  // Both would become U+FFFD on the way into the module: one turn would then be covered by the other's checkpoint.
  const message = (name: string) => `${name} holds half of a surrogate pair: pass well-formed text`;

  it.each(['\ud800', 'a\udfffb', '\udc00\ud800'])('%j is refused', (half) => {
    expect(loosely(policy.shouldCheckpoint, { ...state, turnId: half })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: message('turnId'),
    });
    expect(loosely(policy.shouldCheckpoint, { ...state, lastCheckpointTurnId: half })).toMatchObject({
      message: message('lastCheckpointTurnId'),
    });
    expect(loosely(policy.checkpointComment, half)).toMatchObject({ message: message('turnId') });
  });
  it('a whole pair is fine', () => {
    expect(policy.checkpointComment('\ud83d\ude80')).toBe('turnback-pre-agent-%F0%9F%9A%80');
  });
});

describe('isTurnbackError', () => {
  it('knows an error of another copy or realm by its marker, and nothing else', () => {
    expect(policy.isTurnbackError({ [Symbol.for('turnback.error')]: true })).toBe(true);
    for (const other of [new Error('x'), { code: 'INVALID_ARGUMENT' }, null, undefined, 'x', revoked()]) {
      expect(policy.isTurnbackError(other)).toBe(false);
    }
  });
});
