// P3, P4: the driver that a recording saw, as a model for attempts that nobody recorded.
import { measuredDriver, type RecordedAttempt, type Scenario, simulate } from 'turnback-policy/simulate';
import { expect, it } from 'vitest';

/** A scenario with a turn for each of these attempts, or several batches of a turn that shared one. */
function recorded(attempts: (RecordedAttempt | undefined)[][]): Scenario {
  const batches = attempts.flatMap((shared, turn) =>
    shared.map((attempt) => ({
      sandbox: 's',
      turn: `${turn}`,
      startMs: 10_000 * turn,
      durationMs: 10,
      kind: 'destructive' as const,
      ...(attempt === undefined ? {} : { attempt }),
    })),
  );
  return { version: 1, batches };
}
const done = (ms: number): RecordedAttempt => ({ ms, outcome: 'succeeded' });

it('has the latencies that were seen, and the shares of what failed', () => {
  const failed: RecordedAttempt = { ms: 7, outcome: 'failed' };
  const stalled: RecordedAttempt = { ms: 10_000, outcome: 'stalled' };
  expect(measuredDriver(recorded([[done(20), done(20)], [done(20)], [failed, undefined], [stalled]]))).toEqual({
    latency: { kind: 'samples', ms: [20, 20, 7] },
    failureRate: 0.25,
    stallRate: 0.25,
  });
  expect(measuredDriver(recorded([[stalled]]))).toEqual({ failureRate: 0, stallRate: 1 });
  expect(measuredDriver(recorded([[undefined]]))).toBeUndefined();
});

it('is what attempts take that were not recorded, and what was recorded stays', () => {
  const scenario = recorded([[done(300), undefined], [done(300)]]);
  const waited = (driver: object) =>
    simulate({ ...scenario, driver, policies: [{ kind: 'every_batch' }] }).summaries[0]?.waiting.maxMs;
  expect(waited({})).toBe(350);
  expect(waited(measuredDriver(scenario) ?? {})).toBe(600);
});

it('of very many, so many as a scenario may hold', () => {
  const many = recorded(Array.from({ length: 150_000 }, (_, at) => [done(at)]));
  const driver = measuredDriver(many);
  const ms = driver?.latency?.kind === 'samples' ? driver.latency.ms : [];
  expect(ms).toHaveLength(100_000);
  expect([ms[0], ms[50_000], ms[99_999]]).toEqual([0, 75_000, 149_999]);
  expect(simulate({ ...recorded([[undefined]]), driver: driver ?? {} }).summaries).toHaveLength(1);
});
