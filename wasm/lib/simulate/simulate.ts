import { refusing } from '../error.js';
import { policy as module } from '../loader.js';
import { readAnswer } from './answer.js';
import { questionOf, setPolicy } from './question.js';
import type { Policy, Scenario } from './scenario.js';
import type { Simulation, Summary, TraceEvent } from './simulation.js';
import { checkScenario } from './validate.js';

const AS_BUILT: readonly Policy[] = [{ kind: 'per_turn' }];

/**
 * Replays a scenario under each of its policies, with the guard's own rules and a driver that behaves as it is told (P3). Pure: the same
 * scenario gives the same answer in every browser and in Node.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` when it is no scenario; `details.path` says where, for instance `batches[3].startMs`
 */
export function simulate(scenario: Scenario): Simulation {
  const checked = checkScenario(scenario);
  const { policies = AS_BUILT } = checked;
  const question = questionOf(checked);
  const trace: TraceEvent[] = [];
  const summaries: Summary[] = [];
  for (const [at, policy] of policies.entries()) {
    setPolicy(question, policy);
    const answer = refusing('scenario', () => module().simulate(question.numbers));
    summaries.push(readAnswer(answer, question, at, policy, trace));
  }
  return { trace, summaries };
}
