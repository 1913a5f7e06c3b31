/** P4: what the page says in figures is so: the headline under any policies and driver, and what a rollback costs at worst. */
import { type DriverModel, type Policy, type PolicyKind, type Summary, simulate } from 'turnback-policy/simulate';
import { describe, expect, test } from 'vitest';
import { isolated } from '../../simulator/src/model/called.js';
import { duration } from '../../simulator/src/model/format.js';
import { headline } from '../../simulator/src/model/headline.js';
import { nameOf } from '../../simulator/src/model/policy-words.js';
import { inHowMany, orEverything, worstMs, worstText } from '../../simulator/src/model/worst.js';
import { BUILTINS } from '../../simulator/src/scenarios/index.js';
import { Random } from '../../simulator/src/scenarios/random.js';
import { SMALL } from './scenarios.js';

const KINDS: readonly [PolicyKind, ...PolicyKind[]] = [
  'per_turn',
  'per_turn',
  'every_batch',
  'interval',
  'last_turn_only',
  'shared_across_turns',
  'never',
];
/** Names as this test gives them, and those that policies have by themselves, as a sentence has them. */
const NAME = String.raw`((?:“Old [^”]*”|once per turn|checkpointing before every batch|never checkpointing|one that remembers the last turn only|one that shares attempts across turns|an? [\w .]+ throttle)(?: \([^)]*\))*)`;
const TIME = String.raw`(\d[\d.]* (?:ms|s|min|h)(?: \d+ (?:s|min))?)`;
const COUNT = String.raw`(no|\d[\d,]*)`;

interface Case {
  readonly said: string;
  readonly summaries: readonly Summary[];
  readonly base: Summary;
}

function made(random: Random, batches: Parameters<typeof simulate>[0]): Case {
  const policies = Array.from({ length: random.between(1, 4) }, (): Policy => {
    const kind = random.pick(KINDS);
    return {
      kind,
      ...(kind === 'interval' && { intervalMs: random.pick([200, 8_000, 11_000, 30_000, 600_000]) }),
      ...(random.chance(0.3) && { when: 'unless_read_only' as const }),
      ...(random.chance(0.3) && { onFailure: 'block' as const }),
      ...(random.chance(0.3) && { timeoutMs: random.pick([1, 500, 2_000]) }),
      ...(random.chance(0.2) && { name: `Old code ${random.between(1, 2)}` }),
    };
  });
  const driver: DriverModel = {
    latency: random.pick([
      { kind: 'fixed', ms: random.pick([0, 1, 100, 900]) },
      { kind: 'uniform', minMs: 200, maxMs: 3_000 },
    ]),
    failureRate: random.pick([0, 0, 0.05, 0.5, 1]),
    stallRate: random.pick([0, 0, 0.05, 1]),
    recorded: random.chance(0.5),
  };
  const { summaries } = simulate({ ...batches, seed: random.between(0, 999), policies, driver });
  const told = summaries.map((summary, place) => ({ summary, name: nameOf(policies[place] ?? { kind: 'never' }) }));
  const [base] = [summaries.find(({ kind }) => kind === 'per_turn') ?? summaries[0]];
  if (base === undefined) throw new Error('there is no policy');
  const lead = random.pick(['lost', 'checkpoints', 'waiting', 'unprotected', undefined] as const);
  return { said: headline(told, lead), summaries, base };
}

const num = (text: string | undefined) => (text?.toLowerCase() === 'no' ? 0 : Number(text?.replaceAll(',', '')));
const waited = ({ waiting }: Summary) => duration(waiting.totalMs);
const skipped = ({ skipped }: Summary) => Object.values(skipped).reduce((sum, count) => sum + count, 0);
const finite = ({ lost }: Summary) => lost.nothing === 0;
const BATCH = 'batch(?:es)?';

/** Every sentence that there is, with what has to be so where it is used. */
const CLAIMS: readonly (readonly [name: string, form: string, holds: (at: string[], of: Case) => boolean])[] = [
  [
    'more lost',
    `^${NAME} would lose up to ${TIME} of earlier work here, and other turns’ work in ${COUNT} ${BATCH}; ${NAME} loses ${TIME} at most(, never another turn’s)?[.]$`,
    ([, , time, across, , own, never], { summaries, base }) =>
      time !== own &&
      finite(base) &&
      own === duration(base.lost.maxMs) &&
      (never === undefined) === base.lost.acrossTurns > 0 &&
      summaries.some((one) => finite(one) && duration(one.lost.maxMs) === time && one.lost.acrossTurns === num(across)),
  ],
  [
    'nothing left',
    `^${NAME} leaves ${COUNT} ${BATCH} with nothing to go back to; ${NAME} loses ${TIME} of earlier work at most[.]$`,
    ([, , nothing, , own], { summaries, base }) =>
      num(nothing) > 0 &&
      finite(base) &&
      own === duration(base.lost.maxMs) &&
      summaries.some(({ lost }) => lost.nothing === num(nothing)),
  ],
  [
    'made again',
    `^${NAME} makes ${COUNT} checkpoints? here and waits ${TIME}; ${NAME} makes ${COUNT} and waits ${TIME}[.](?: ${NAME} leaves at least ${COUNT} turns? without a checkpoint of (?:its|their) own[.])?$`,
    ([, , own, wait, , theirs, theirWait, , without], { summaries, base }) =>
      num(own) === base.checkpoints &&
      wait === waited(base) &&
      num(theirs) > num(own) &&
      summaries.some((one) => one.mistake && one.checkpoints === num(theirs) && waited(one) === theirWait) &&
      (without === undefined ||
        (base.kind === 'per_turn' &&
          summaries.some(
            ({ kind, checkpoints }) =>
              kind === 'shared_across_turns' && base.checkpoints - checkpoints === num(without) && num(without) > 0,
          ))),
  ],
  [
    'checkpoints',
    `^${NAME} makes ${COUNT} checkpoints? and waits ${TIME} in all, where ${NAME} makes ${COUNT} and waits ${TIME}[.] (?:A rollback costs ${TIME} of earlier work at most|${COUNT} ${BATCH} had nothing to go back to)[.]$`,
    ([, , own, wait, , theirs, theirWait, cost, nothing], { summaries, base }) =>
      num(own) === base.checkpoints &&
      wait === waited(base) &&
      num(theirs) > num(own) &&
      summaries.some((one) => one.checkpoints === num(theirs) && waited(one) === theirWait) &&
      (cost === undefined
        ? num(nothing) === base.lost.nothing && num(nothing) > 0
        : finite(base) && cost === duration(base.lost.maxMs)),
  ],
  [
    'came to nothing',
    `^${COUNT} attempts? came to nothing under ${NAME}, yet nobody waited longer than ${TIME} for one; (?:${COUNT} destructive ${BATCH} ran unprotected)?(?: and )?(?:${COUNT} ${BATCH} (?:was|were) refused)?[.](?: ${NAME} would refuse ${COUNT} ${BATCH}[.])?$`,
    ([, none, , most, bare, refused, , theirs], { summaries, base }) =>
      num(none) === base.failures + base.timeouts &&
      num(none) > 0 &&
      most === duration(base.waiting.maxMs) &&
      num(bare ?? 'no') === base.unprotected &&
      num(refused ?? 'no') === base.refused &&
      (theirs === undefined || (num(theirs) > 0 && summaries.some((one) => one.refused === num(theirs)))),
  ],
  [
    'shared',
    `^Under ${NAME}, ${COUNT} batches share ${COUNT} checkpoints?: ${COUNT} of them needs? none of (?:its|their) own[.] The waits come to ${TIME}; with ${NAME}, to ${TIME}[.]$`,
    ([, , all, made, none, wait, , theirs], { summaries, base }) =>
      num(all) === base.batches &&
      num(made) === base.checkpoints &&
      num(made) > 0 &&
      num(none) === num(all) - num(made) &&
      num(none) > 0 &&
      base.unprotected + base.refused + skipped(base) + base.failures + base.timeouts === 0 &&
      wait === waited(base) &&
      wait !== theirs &&
      summaries.some((one) => waited(one) === theirs && one.waiting.totalMs > base.waiting.totalMs),
  ],
  [
    'waits',
    `^Under ${NAME} the waits come to ${TIME}; with ${NAME}, to ${TIME}[.]$`,
    ([, , wait, , theirs], { summaries, base }) =>
      wait === waited(base) &&
      wait !== theirs &&
      summaries.some((one) => waited(one) === theirs && one.waiting.totalMs > base.waiting.totalMs),
  ],
  [
    'unprotected',
    `^${NAME} leaves ${COUNT} destructive ${BATCH} unprotected here; ${NAME} leaves (none|[\\d,]+)[.]$`,
    ([, , bare, , own], { summaries, base }) =>
      (own === 'none' ? 0 : num(own)) === base.unprotected &&
      num(bare) > base.unprotected &&
      summaries.some(({ unprotected }) => unprotected === num(bare)),
  ],
  [
    'plain',
    `^${NAME}: ${COUNT} checkpoints?, ${TIME} waited, (?:${TIME} of earlier work lost at worst|everything lost at worst, in ${COUNT} ${BATCH})[.]$`,
    ([, , own, wait, lost, nothing], { base }) =>
      num(own) === base.checkpoints &&
      wait === waited(base) &&
      (lost === undefined
        ? num(nothing) === base.lost.nothing && num(nothing) > 0
        : finite(base) && lost === duration(base.lost.maxMs)),
  ],
];

describe('the headline', () => {
  test('whatever the policies and the driver become, each figure in it is so', () => {
    const random = new Random(4);
    const bases = BUILTINS.filter(({ id }) => id !== 'night').map(({ make }) => make());
    const used = new Map<string, number>();
    for (let round = 0; round < 1_500; round++) {
      const whole = bases[round % bases.length];
      if (whole === undefined) throw new Error('there is no scenario');
      const from = random.chance(0.5) ? 0 : random.between(0, 20);
      const batches = whole.batches.slice(from, from + random.pick([1, 2, 10, 1_000]));
      const one = made(random, { ...whole, batches });
      const found = CLAIMS.flatMap(([name, form, holds]) => {
        const at = new RegExp(form, 'i').exec(one.said);
        return at === null ? [] : [{ name, holds: holds([...at], one) }];
      });
      expect(found, `${one.said} ${JSON.stringify(one.summaries).slice(0, 2_000)}`).toEqual([
        { name: expect.any(String), holds: true },
      ]);
      expect(one.said).not.toMatch(/\b0 (?:checkpoint|batch|turn)|\b1 (?:\w+es|\w+ses|checkpoints|turns|attempts)\b/);
      expect(one.said[0]).toMatch(/[A-Z\d“]/);
      used.set(found[0]?.name ?? '', (used.get(found[0]?.name ?? '') ?? 0) + 1);
    }
    // Each of them was looked at.
    expect([...used.keys()].sort()).toEqual(CLAIMS.map(([name]) => name).sort());
  });

  test('of ten batches nine ran unprotected: they do not share a checkpoint', () => {
    const batches = Array.from({ length: 10 }, (_, place) => ({
      ...{ sandbox: 's', turn: place < 9 ? null : 't', startMs: place * 5_000, durationMs: 1_000 },
      kind: 'destructive' as const,
    }));
    const policies: Policy[] = [{ kind: 'per_turn' }, { kind: 'every_batch' }];
    const { summaries } = simulate({ version: 1, policies, batches });
    const told = summaries.map((summary, place) => ({ summary, name: nameOf(policies[place] ?? { kind: 'never' }) }));
    expect(headline(told, 'waiting')).toBe(
      'Under once per turn the waits come to 50 ms; with checkpointing before every batch, to 500 ms.',
    );
  });

  /** Once per turn and a throttle, with figures of their own. */
  const two = (own: Partial<Summary>, other: Partial<Summary>, lead: Parameters<typeof headline>[1]) => {
    const policies: Policy[] = [{ kind: 'per_turn' }, { kind: 'interval', intervalMs: 8_000 }];
    const { summaries } = simulate({ ...SMALL, policies } as Parameters<typeof simulate>[0]);
    return headline(
      summaries.map((summary, place) => ({
        summary: { ...summary, unprotected: 0, checkpoints: 4, ...[own, other][place] },
        name: nameOf(policies[place] ?? { kind: 'never' }),
      })),
      lead,
    );
  };

  test('what is the same when it is rounded is not called more', () => {
    const lost = (maxMs: number, acrossTurns: number) => ({
      lost: { meanMs: 0, p99Ms: 0, maxMs, batches: 1, acrossTurns, nothing: 0 },
    });
    expect(two(lost(54_900, 0), lost(55_100, 3), 'lost')).toBe(
      'Once per turn: 4 checkpoints, 200 ms waited, 55 s of earlier work lost at worst.',
    );
    expect(two(lost(54_900, 1), lost(56_100, 3), 'lost')).toBe(
      'An 8 s throttle would lose up to 56 s of earlier work here, and other turns’ work in 3 batches; once per turn loses 55 s at most.',
    );
    const waits = (totalMs: number) => ({ waiting: { totalMs, medianMs: 0, p99Ms: 0, maxMs: 0 } });
    expect(two(waits(0.1), waits(0.9), 'waiting')).toContain('Once per turn: ');
  });

  test('where each batch has its own checkpoint none of them share', () => {
    const waits = (totalMs: number) => ({ waiting: { totalMs, medianMs: 0, p99Ms: 0, maxMs: 0 } });
    const own = { joined: 0, alreadyCovered: 0, batches: 4 };
    const said = 'he waits come to 1 s; with an 8 s throttle, to 2 s.';
    expect(two({ ...own, ...waits(1_000) }, waits(2_000), 'waiting')).toBe(`Under once per turn t${said}`);
    expect(two({ ...own, alreadyCovered: 1, checkpoints: 3, ...waits(1_000) }, waits(2_000), 'waiting')).toBe(
      `Under once per turn, 4 batches share 3 checkpoints: 1 of them needs none of its own. T${said}`,
    );
  });

  test('a name cannot turn around what stands beside it', () => {
    expect(isolated('\u202eabc\u2069 d\u200f')).toBe('abc d');
    expect(isolated('\u05d0 \u202e1')).toBe('\u2068\u05d0 1\u2069');
    const { summaries } = simulate({ ...SMALL, policies: [{ kind: 'per_turn', name: 'x\u202ey' }] } as Parameters<
      typeof simulate
    >[0]);
    expect(
      headline(
        summaries.map((summary) => ({ summary, name: summary.name })),
        undefined,
      ),
    ).toBe('“xy”: 2 checkpoints, 100 ms waited, 1 s of earlier work lost at worst.'.replace('100', '200'));
  });
});

test('what some batches cannot be taken back from is everything, at worst and beside what the others lose', () => {
  const batch = (turn: string, startMs: number, outcome: 'failed' | 'succeeded') =>
    ({ sandbox: 's', turn, startMs, durationMs: 5_000, kind: 'destructive', attempt: { ms: 10, outcome } }) as const;
  const { summaries } = simulate({
    version: 1,
    policies: [{ kind: 'per_turn' }, { kind: 'never' }],
    batches: [
      batch('a', 0, 'failed'),
      batch('b', 6_000, 'failed'),
      batch('c', 12_000, 'succeeded'),
      batch('c', 18_000, 'failed'),
    ],
  });
  expect(summaries.map((one) => [worstMs(one), worstText(one), inHowMany(one)])).toEqual([
    [Number.POSITIVE_INFINITY, 'everything', 'in 2 batches'],
    [Number.POSITIVE_INFINITY, 'everything', 'in 4 batches'],
  ]);
  expect(summaries.map((one) => orEverything(one, one.lost.meanMs, duration(one.lost.meanMs)))).toEqual([
    '2.5 s, or everything',
    'everything',
  ]);
});
