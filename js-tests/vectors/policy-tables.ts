// P5: the shared tables of inputs and answers (README.md has the format), on whatever package.
import { describe, expect, it } from 'vitest';
import { type Refused, type Text, textOf, thrownBy, vectors } from '../wasm/vectors.js';

/** The pure functions that every package exports. */
export type Tabled = Pick<
  typeof import('turnback-policy'),
  | 'shouldCheckpoint'
  | 'CHECKPOINT_TIMEOUT_MS'
  | 'checkpointComment'
  | 'parseCheckpointComment'
  | 'resolveFlag'
  | 'allowedTransitions'
  | 'isLegalTransition'
> & { isTurnbackError(error: unknown): boolean };

type SandboxStatus = import('turnback-policy').SandboxStatus;

interface State {
  flagEnabled: boolean;
  turnId: Text;
  lastCheckpointTurnId: Text | null;
}

/** Declares the tests of a package. */
export function replayTables(policy: Tabled): void {
  function expectRefused(call: () => unknown, { code, message }: Refused): void {
    const error = thrownBy(call);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'TurnbackError', code, message, retryable: false });
    expect(policy.isTurnbackError(error)).toBe(true);
  }

  describe('G1, G2: shouldCheckpoint', () => {
    const file = vectors<{
      timeoutMs: number;
      cases: { state: State; expect: boolean }[];
      refused: (Refused & { state: State })[];
    }>('should-checkpoint.json');
    const ask = ({ flagEnabled, turnId, lastCheckpointTurnId: last }: State) =>
      policy.shouldCheckpoint({
        flagEnabled,
        turnId: textOf(turnId),
        lastCheckpointTurnId: last === null ? null : textOf(last),
      });

    it.each(file.cases)('$state gives $expect', ({ state, expect: answer }) => {
      expect(ask(state)).toBe(answer);
    });
    it.each(file.refused)('$state is refused', ({ state, ...refused }) => {
      expectRefused(() => ask(state), refused);
    });
    it('G7: the time limit is the one that every build has', () => {
      expect(policy.CHECKPOINT_TIMEOUT_MS).toBe(file.timeoutMs);
    });
    it.each(['\ud800', 'a\udfffb'])(
      'half of a surrogate pair (%j) is refused: two such ids would become one',
      (half) => {
        const state = { flagEnabled: true, turnId: half, lastCheckpointTurnId: null };
        expect(thrownBy(() => policy.shouldCheckpoint(state))).toMatchObject({ code: 'INVALID_ARGUMENT' });
        expect(thrownBy(() => policy.checkpointComment(half))).toMatchObject({ code: 'INVALID_ARGUMENT' });
      },
    );
  });

  describe('G2: the comment', () => {
    const file = vectors<{
      format: { turnId: Text; prefix?: Text; comment: Text }[];
      notOurs: { comment: Text; why: string }[];
      refused: (Refused & { turnId: Text; prefix?: Text })[];
    }>('comment.json');
    const prefixOf = (prefix: Text | undefined) => (prefix === undefined ? undefined : textOf(prefix));

    it.each(file.format)('of $turnId is $comment and comes back', ({ turnId, prefix, comment }) => {
      expect(policy.checkpointComment(textOf(turnId), prefixOf(prefix))).toBe(textOf(comment));
      expect(policy.parseCheckpointComment(textOf(comment))).toStrictEqual({
        prefix: prefixOf(prefix) ?? 'turnback',
        turnId: textOf(turnId),
      });
    });
    it.each(file.notOurs)('that is not ours ($why) parses to null', ({ comment }) => {
      expect(policy.parseCheckpointComment(textOf(comment))).toBeNull();
    });
    it.each(file.refused)('of $turnId with the prefix $prefix is refused', ({ turnId, prefix, code, message }) => {
      expectRefused(() => policy.checkpointComment(textOf(turnId), prefixOf(prefix)), { code, message });
    });
  });

  describe('G3: resolveFlag', () => {
    interface Decision {
      enabled: boolean;
      reason: string;
      warning?: string;
    }
    const file = vectors<{ cases: { env: Record<string, Text>; expect: Decision }[] }>('flag.json');

    it.each(file.cases)('$env', ({ env, expect: decision }) => {
      const given = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, textOf(value)]));
      expect(policy.resolveFlag(given)).toStrictEqual(decision);
    });
    it('takes a whole environment', () => {
      expect(policy.resolveFlag({ ...process.env, SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: 'true' }).enabled).toBe(true);
    });
  });

  describe('S2, S3: the lifecycle', () => {
    const file = vectors<{
      transitions: Record<SandboxStatus, SandboxStatus[]>;
      illegal: { from: SandboxStatus; to: SandboxStatus }[];
      refusedStatuses: (Refused & { status: Text })[];
    }>('lifecycle.json');
    const statuses = Object.keys(file.transitions) as SandboxStatus[];

    it.each(statuses)('allows after %s what the table lists, and nothing else', (from) => {
      expect(policy.allowedTransitions(from)).toStrictEqual(file.transitions[from]);
      const legal = statuses.filter((to) => policy.isLegalTransition(from, to));
      expect(legal.sort()).toStrictEqual([...file.transitions[from]].sort());
    });
    it.each(file.illegal)('does not lead from $from to $to', ({ from, to }) => {
      expect(policy.isLegalTransition(from, to)).toBe(false);
    });
    it.each(file.refusedStatuses)('has no status $status', ({ status, ...refused }) => {
      const name = textOf(status) as SandboxStatus;
      expectRefused(() => policy.allowedTransitions(name), refused);
      expectRefused(() => policy.isLegalTransition(name, 'ACTIVE'), refused);
      expectRefused(() => policy.isLegalTransition('ACTIVE', name), refused);
    });
  });
}
