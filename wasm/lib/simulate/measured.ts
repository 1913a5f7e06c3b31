import { aList, anObject } from '../check.js';
import type { DriverModel, Scenario, ScenarioBatch } from './scenario.js';

/** A scenario holds no more samples. */
const MOST_SAMPLES = 100_000;

/**
 * A model of the driver that a recording saw: its own latencies, drawn with equal chances, and the shares of attempts that failed or were
 * never answered. For attempts that nobody recorded, because the policy that was there made none: without it those take 50 ms. Nothing, when no
 * attempt was recorded.
 *
 * ```ts
 * const scenario = parseScenario(text);
 * simulate({ ...scenario, driver: measuredDriver(scenario) ?? {}, policies: [{ kind: 'per_turn' }, { kind: 'every_batch' }] });
 * ```
 */
export function measuredDriver(scenario: Pick<Scenario, 'batches'>): DriverModel | undefined {
  const attempts = attemptsOf(aList('scenario.batches', anObject('scenario', scenario).batches));
  if (attempts.length === 0) return undefined;
  const answered = attempts.filter(({ outcome }) => outcome !== 'stalled').map(({ ms }) => ms);
  const share = (outcome: string) => attempts.filter((attempt) => attempt.outcome === outcome).length / attempts.length;
  return {
    ...(answered.length === 0 ? {} : { latency: { kind: 'samples', ms: spread(answered) } }),
    failureRate: share('failed'),
    stallRate: share('stalled'),
  };
}

/** Each attempt once: batches that shared one all say what became of it. */
function attemptsOf(batches: readonly ScenarioBatch[]) {
  const attempts = new Map<string, NonNullable<ScenarioBatch['attempt']>>();
  for (const [place, batch] of batches.entries()) {
    const { sandbox, turn, attempt } = anObject(`scenario.batches[${place}]`, batch);
    if (attempt !== undefined) attempts.set(JSON.stringify([sandbox, turn, attempt.ms, attempt.outcome]), attempt);
  }
  return [...attempts.values()];
}

/** At most so many of them, from all parts of their order. */
function spread(latencies: number[]): number[] {
  if (latencies.length <= MOST_SAMPLES) return latencies;
  const sorted = latencies.sort((one, other) => one - other);
  return Array.from(
    { length: MOST_SAMPLES },
    (_, at) => sorted[Math.floor(((at + 0.5) * sorted.length) / MOST_SAMPLES)] ?? 0,
  );
}
