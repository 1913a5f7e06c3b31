// P3, P4: a day that a real guard recorded, replayed under the policy that it had, becomes what it was: the same outcomes at the same
// times. So it can be believed under another.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Batch, createGuard, type Driver, localDriver, runBash, type Verdict } from 'turnback';
import { openRecording } from 'turnback/recording';
import { type BatchEvent, parseScenario, type Summary, simulate } from 'turnback-policy/simulate';
import { expect, it } from 'vitest';
import { FakeClock, noUnhandledRejections } from '../guard/support.js';
import { scene as store, temporary, write } from '../node/support.js';

noUnhandledRejections();

/** Numbers from 0 to 1, the same for the same seed. */
function luck(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** What became of a batch. */
interface Seen {
  outcome: string;
  reason: string | null;
  protected: boolean;
  late: boolean;
  askedMs: number;
  beganMs: number;
}

const TIMEOUT_MS = 1000;

/**
 * A day of agents in a few sandboxes, each with its turns, steps and calls side by side, and a driver that is slow, fails or hangs. Calls of one
 * step ask `apartMs` after one another.
 */
async function day(seed: number, when: 'always' | 'unless_read_only', apartMs = 10) {
  const random = luck(seed);
  const from = (least: number, most: number) => least + Math.floor(random() * (most - least + 1));
  // Agents act at full hundredths of a second, and the driver answers between them: what comes first within a millisecond is in no file.
  const agentMs = (least: number, most: number) => 10 * from(least / 10, most / 10);
  const driverMs = (least: number, most: number) => agentMs(least, most) + 5;
  const clock = new FakeClock();
  const originMs = clock.now();
  const now = () => clock.now() - originMs;
  const sleep = (ms: number) => new Promise<void>((resolve) => void clock.schedule(ms, resolve));
  const driver: Driver = {
    async createCheckpoint() {
      const fate = random();
      await sleep(fate < 0.15 ? driverMs(TIMEOUT_MS, 3 * TIMEOUT_MS) : driverMs(0, 400));
      if (fate > 0.9) await new Promise(() => {});
      if (fate > 0.7) throw new Error('no');
    },
  };
  const file = join(temporary(), 'day.jsonl');
  const recording = await openRecording({ file, clock, ends: 'told' });
  const guard = createGuard({ driver, clock, enabled: () => true, recording, when, timeoutMs: TIMEOUT_MS });
  const seen: Seen[] = [];
  const call = async (batch: Batch, afterMs: number) => {
    if (afterMs > 0) await sleep(afterMs);
    const askedMs = now();
    const verdict = await guard.beforeBatch(batch);
    const beganMs = now();
    await sleep(agentMs(50, 900));
    recording.ended(batch);
    const { outcome, reason, protected: covered, late } = verdict;
    seen.push({ outcome, reason, protected: covered, late, askedMs, beganMs });
  };
  const agent = async (sandboxId: string) => {
    for (let turn = 0; turn < 8; turn += 1) {
      await sleep(agentMs(10, 2000));
      for (let step = from(1, 4); step > 0; step -= 1) {
        const calls = Array.from({ length: from(1, 3) }, (_, at) => {
          const command = random() < 0.3 ? 'ls' : 'make';
          return call({ sandboxId, turnId: `turn ${turn}`, command }, at * apartMs);
        });
        await Promise.all(calls);
        await sleep(agentMs(10, 300));
      }
    }
  };
  const agents = Promise.all(['one', 'two', 'three'].map(agent));
  let over = false;
  void agents.then(() => {
    over = true;
  });
  while (!over) await clock.pass(5000);
  await recording.close();
  return { seen, text: readFileSync(file, 'utf8') };
}

/** What becomes of its batches in a replay, in the order in which they were recorded. */
function replayed(text: string, policy: object): { seen: Seen[]; summary: Summary } {
  const scenario = parseScenario(text);
  const { trace, summaries } = simulate({ ...scenario, policies: [{ kind: 'per_turn', ...policy }] });
  const events = trace.filter((event): event is BatchEvent => event.type === 'batch');
  events.sort((one, other) => one.batch - other.batch);
  const seen = events.map(({ outcome, reason, protected: covered, late, atMs, startMs }) => {
    return { outcome, reason, protected: covered, late, askedMs: atMs, beganMs: startMs ?? -1 };
  });
  return { seen, summary: summaries[0] as Summary };
}

const count = (seen: Seen[], outcome: string) => seen.filter((one) => one.outcome === outcome).length;

it.each(['always', 'unless_read_only'] as const)(
  'a random day, %s: batch for batch and to the millisecond',
  async (when) => {
    const total: Record<string, number> = {};
    for (let round = 0; round < 4; round += 1) {
      const seed = Math.floor(Math.random() * 2 ** 32);
      const { seen, text } = await day(seed, when);
      const replay = replayed(text, { when, timeoutMs: TIMEOUT_MS });
      expect(replay.seen, `seed ${seed}`).toEqual(seen);
      expect(replay.summary, `seed ${seed}`).toMatchObject({
        batches: seen.length,
        checkpoints: count(seen, 'created'),
        joined: count(seen, 'joined'),
        alreadyCovered: count(seen, 'already_covered'),
      });
      const waitedMs = seen.reduce((sum, { askedMs, beganMs }) => sum + beganMs - askedMs, 0);
      expect(replay.summary.waiting.totalMs).toBe(waitedMs);
      for (const { outcome } of seen) total[outcome] = (total[outcome] ?? 0) + 1;
    }
    // Everything that can happen did happen.
    const outcomes = [
      'created',
      'joined',
      'already_covered',
      'failed',
      'timed_out',
      ...(when === 'always' ? [] : ['skipped']),
    ];
    expect(Object.keys(total).sort()).toEqual(outcomes.sort());
  },
);

it.each(['always', 'unless_read_only'] as const)(
  'calls in the same millisecond, %s: which of them led is not in the file, and all else is',
  async (when) => {
    // Whoever leads and whoever joins.
    const shared = (one: Seen) => ({ ...one, outcome: one.outcome.replace('joined', 'created'), reason: null });
    for (let round = 0; round < 4; round += 1) {
      const seed = Math.floor(Math.random() * 2 ** 32);
      const { seen, text } = await day(seed, when, 0);
      const replay = replayed(text, { when, timeoutMs: TIMEOUT_MS });
      expect(replay.seen.map(shared), `seed ${seed}`).toEqual(seen.map(shared));
      expect(replay.summary).toMatchObject({ checkpoints: count(seen, 'created'), joined: count(seen, 'joined') });
    }
  },
);

it('commands in a real directory with the engine’s own checkpoints, and what another policy would have done', async () => {
  const { manager, workspace } = await store();
  const file = join(temporary(), 'day.jsonl');
  const recording = await openRecording({ file });
  const guard = createGuard({ driver: localDriver(manager, workspace), enabled: () => true, recording });
  const verdicts: Verdict[] = [];
  const run = async (turnId: string, ...commands: string[]) => {
    const ran = await Promise.all(commands.map((command) => runBash({ sandbox: workspace, command, guard, turnId })));
    // Of calls side by side the first asks first, and is written when it is over.
    verdicts.push(...ran.map(({ checkpoint }) => checkpoint as Verdict));
  };
  await run('a', 'echo 1 >a.txt');
  await run('a', 'cat a.txt');
  await run('b', 'rm a.txt', 'ls');
  write(workspace, { 'a.txt': 'again' });
  await run('c', 'mv a.txt c.txt');
  await recording.close();
  const scenario = parseScenario(readFileSync(file, 'utf8'));
  const [asBuilt, always, never] = simulate({
    ...scenario,
    policies: [{ kind: 'per_turn' }, { kind: 'every_batch' }, { kind: 'never' }],
  }).summaries;
  const outcomes = (outcome: string) => verdicts.filter((verdict) => verdict.outcome === outcome).length;
  expect(asBuilt).toMatchObject({
    batches: 5,
    checkpoints: outcomes('created'),
    joined: outcomes('joined'),
    alreadyCovered: outcomes('already_covered'),
    unprotected: 0,
  });
  expect([outcomes('created'), outcomes('joined') + outcomes('already_covered')]).toEqual([3, 2]);
  expect(always?.checkpoints).toBe(5);
  expect(never).toMatchObject({ checkpoints: 0, unprotected: 3 });
});
