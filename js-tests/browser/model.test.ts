/** The page's pure parts: figures and times as people read them, links, lanes, risk, axis, headline. */
import type { Policy, Simulation } from 'turnback-policy/simulate';
import { simulate } from 'turnback-policy/simulate';
import { describe, expect, test } from 'vitest';
import { band } from '../../simulator/src/chart/band.js';
import { textWidth } from '../../simulator/src/chart/fit.js';
import { pointed, ticks, timeScale } from '../../simulator/src/chart/frame.js';
import { hit } from '../../simulator/src/chart/hit.js';
import { Strokes } from '../../simulator/src/chart/strokes.js';
import { csv } from '../../simulator/src/model/csv.js';
import { bytes, clock, duration, moment, number, plural } from '../../simulator/src/model/format.js';
import { headline } from '../../simulator/src/model/headline.js';
import { firstReaching, stack } from '../../simulator/src/model/lanes.js';
import { decodeLink, encodeLink } from '../../simulator/src/model/link.js';
import { packBatches, packRuns } from '../../simulator/src/model/pack.js';
import { letter, nameOf } from '../../simulator/src/model/policy-words.js';
import { highestRisk, riskAt } from '../../simulator/src/model/risk.js';
import { BUILTINS } from '../../simulator/src/scenarios/index.js';
import { neighbour } from '../../simulator/src/ui/moves.js';
import { SMALL } from './scenarios.js';

const scenario = SMALL as unknown as Parameters<typeof simulate>[0];
const packed = (of: typeof scenario) => {
  const batches = packBatches(of);
  return { batches, runs: packRuns(simulate(of), batches) };
};

test.each([
  [0, '0 s'],
  [0.4, '1 ms'],
  [250, '250 ms'],
  [1_000, '1 s'],
  [1_240, '1.2 s'],
  [9_960, '10 s'],
  [59_499, '59 s'],
  [59_600, '1 min'],
  [250_000, '4 min 10 s'],
  [3_600_000, '1 h'],
  [7_500_000, '2 h 5 min'],
  [Number.POSITIVE_INFINITY, 'for ever'],
])('a length of %d ms is %s', (ms, text) => expect(duration(ms)).toBe(text));

test.each([
  [0, '0:00'],
  [30_000, '0:30'],
  [30_250, '0:30.25'],
  [61_005, '1:01.005'],
  [3_723_000, '1:02:03'],
])('the moment %d is %s', (ms, text) => expect(clock(ms)).toBe(text));

test('numbers, nouns and sizes', () => {
  expect([number(7), number(1_234_567), plural(1, 'batch', 'batches'), plural(2_000, 'turn')]).toEqual([
    '7',
    '1,234,567',
    '1 batch',
    '2,000 turns',
  ]);
  expect([bytes(12), bytes(61_234), bytes(3_140_000), moment(1_234)]).toEqual(['12 B', '61 kB', '3.1 MB', '0:01.2']);
});

test('letters go on after Z', () => expect([0, 25, 26, 52, 701].map(letter)).toEqual(['A', 'Z', 'AA', 'BA', 'ZZ']));

test.each<[Policy, string]>([
  [{ kind: 'per_turn' }, 'Once per turn'],
  [{ kind: 'interval', intervalMs: 90_000 }, '1 min 30 s throttle'],
  [
    { kind: 'per_turn', when: 'unless_read_only', onFailure: 'block', timeoutMs: 2_000 },
    'Once per turn, unless read-only, blocking, waits 2 s',
  ],
  [{ kind: 'never', name: 'mine' }, 'mine'],
])('policy %o is called %s', (policy, name) => expect(nameOf(policy)).toBe(name));

describe('links', () => {
  const setup = { seed: 7, driver: { failureRate: 0.5 }, policies: [{ kind: 'never' as const }] };

  test('what goes in comes out, whatever its texts are', async () => {
    const odd = { ...scenario, name: 'ü 漢字 \u{1f600} "\\' };
    const fragment = await encodeLink({ scenario: odd, setup });
    expect(fragment).toMatch(/^s=[A-Za-z0-9_-]+$/);
    expect(await decodeLink(`#${fragment}`)).toEqual({ scenario: odd, setup });
  });

  test('one that is none, is cut off or damaged', async () => {
    const fragment = await encodeLink({ builtin: 'rapid', setup });
    expect(await decodeLink('#timeline')).toBeUndefined();
    await expect(decodeLink(fragment.slice(0, -8))).rejects.toThrow('damaged or was cut off');
    await expect(decodeLink('s=!!!')).rejects.toThrow('damaged or was cut off');
    await expect(decodeLink(`s=${btoa('garbage garbage')}`)).rejects.toThrow('damaged or was cut off');
  });

  test('one that unpacks to more than a page can hold is refused', async () => {
    const bomb = await encodeLink({ builtin: 'x'.repeat(70 * 1024 * 1024), setup });
    await expect(decodeLink(bomb)).rejects.toThrow('damaged or was cut off');
  });
});

describe('lanes', () => {
  test('what overlaps lies beneath one another, and rows are used again', () => {
    const { row, rows } = stack([0, 1, 2, 10, 10], [5, 3, 9, 12, 11], 6);
    expect([...row, rows]).toEqual([0, 1, 2, 0, 1, 3]);
    expect([...stack([0, 0, 0], [9, 9, 9], 2).row]).toEqual([0, 1, 1]);
  });

  test('the first that comes up to a moment', () => {
    const reach = Float64Array.of(1, 5, 5, 8);
    expect([0, 1, 2, 5, 6, 9].map((time) => firstReaching(reach, time))).toEqual([0, 0, 1, 1, 3, 4]);
  });

  test('times of a calendar are counted from the first', () => {
    const day = Date.UTC(2026, 0, 5);
    const moved = { ...scenario, batches: scenario.batches.map((one) => ({ ...one, startMs: one.startMs + day })) };
    expect([packBatches(moved).origin, packBatches(scenario).origin]).toEqual([day, 0]);
  });
});

describe('work at risk', () => {
  const { runs } = packed(scenario);
  const risk = runs[0]?.lanes[0]?.risk;
  if (risk === undefined) throw new Error('there is no lane');

  test('grows while batches work, stays while nothing does, and falls with a checkpoint', () => {
    expect(risk.nothingUntil).toBe(100);
    expect([100, 600, 1_100, 1_900, 2_600, 3_100, 9_000].map((time) => riskAt(risk, time))).toEqual([
      0, 500, 1_000, 1_000, 1_500, 2_000, 2_000,
    ]);
    // The second turn's checkpoint is asked for at 10,100 and is there 100 ms later.
    expect([10_150, 10_200, 10_700].map((time) => riskAt(risk, time))).toEqual([2_000, 0, 500]);
    expect([highestRisk(risk, 0, 50), highestRisk(risk, 0, 20_000), highestRisk(risk, 100, 600)]).toEqual([
      0, 2_000, 500,
    ]);
  });

  test.each(BUILTINS.map(({ id, make }) => [id, make] as const))(
    '%s: is what simulate says, at the beginning of each batch',
    (_, make) => {
      const { batches, runs } = packed(make());
      let looked = 0;
      for (const run of runs) {
        for (let batch = 0; batch < batches.count; batch++) {
          if (batches.destructive[batch] !== 1 || Number.isNaN(run.start[batch]) || (run.returnsTo[batch] ?? -1) < 0)
            continue;
          const lane = run.lanes[batches.sandbox[batch] ?? 0];
          if (lane === undefined) throw new Error('a batch without a lane');
          expect(riskAt(lane.risk, run.start[batch] ?? 0)).toBeCloseTo(run.lostMs[batch] ?? 0, 6);
          looked += 1;
        }
      }
      expect(looked).toBeGreaterThan(10);
    },
  );
});

describe('scenarios of the page', () => {
  test.each(BUILTINS.map((one) => [one.id, one] as const))(
    '%s: the same each time, and its headline has figures',
    (_, one) => {
      expect(one.make()).toEqual(one.make());
      const made = one.make();
      const { summaries } = simulate(made);
      const told = summaries.map((summary, place) => ({
        summary,
        name: nameOf(made.policies?.[place] ?? { kind: 'per_turn' }),
      }));
      expect(headline(told, one.lead)).toMatch(/\d/);
    },
  );

  test('the long night has 2,000 turns', () => {
    const night = BUILTINS.find(({ id }) => id === 'night')?.make();
    expect(new Set(night?.batches.map(({ turn }) => turn)).size).toBe(2_000);
  });
});

describe('the picture', () => {
  const { batches, runs } = packed(scenario);
  const [run] = runs;
  if (run === undefined) throw new Error('there is no run');
  const frame = { width: 1_000, from: 0, to: 20_000, riskMax: 2_000 };

  test('the axis has lines that people can count with, about one for each 90 pixels', () => {
    expect(ticks(frame, 0)).toEqual([0, 2_000, 4_000, 6_000, 8_000, 10_000, 12_000, 14_000, 16_000, 18_000, 20_000]);
    expect(ticks({ ...frame, width: 300 }, 0)).toEqual([0, 10_000, 20_000]);
    expect(ticks({ ...frame, from: 1_007, to: 21_007 }, 7)[0]).toBe(2_007);
    for (const to of [3, 900, 86_400_000, 4e9]) expect(ticks({ ...frame, to }, 0).length).toBeLessThan(14);
  });

  test('labels of the axis keep clear of one another, however far or near', () => {
    for (const [from, to] of [
      [0, 8.2e15],
      [8.19e15, 8.2e15],
      [8.2e15 - 2_000, 8.2e15],
      [0, 200],
      [3_600_000, 3_600_200],
      [0, 9e9],
    ] as const) {
      for (const width of [370, 1_000, 1_400]) {
        const wide = { ...frame, width, from, to };
        const labels = ticks(wide, 0).map((at) => ({ at: timeScale(wide)(at), half: textWidth(clock(at)) / 2 }));
        for (const [place, { at, half }] of labels.slice(1).entries()) {
          const before = labels[place] ?? { at: 0, half: 0 };
          expect(at - half - (before.at + before.half)).toBeGreaterThan(12);
        }
      }
    }
  });

  test('a label of wide letters needs the room that they take', () => {
    expect(textWidth('12:30')).toBeCloseTo(32);
    expect(textWidth('漢字')).toBeGreaterThan(21);
    expect(textWidth('WWWW')).toBeGreaterThan(42);
  });

  test.each([
    [600_000, '0:30.3'],
    [30_000, '0:30.26'],
    [900, '0:30.257'],
  ])('over %d ms the pointer tells a moment as finely as the axis, or finer', (to, text) => {
    const near = { ...frame, to };
    expect(pointed(near, 30_257)).toBe(text);
    const digits = (label: string) => label.split('.')[1]?.length ?? 0;
    for (const at of ticks(near, 0)) expect(digits(clock(at))).toBeLessThanOrEqual(digits(text));
  });

  test('a mark is found where it is drawn', () => {
    const drawn = band(batches, run, frame);
    const x = timeScale(frame);
    const [box] = drawn.boxes;
    if (box === undefined) throw new Error('there is no lane');
    expect(hit(drawn.boxes, run, frame, x(2_600), box.batches + 5)).toEqual({ kind: 'batch', batch: 1 });
    expect(hit(drawn.boxes, run, frame, x(10_150), box.attempts)).toEqual({ kind: 'attempt', attempt: 1 });
    expect(hit(drawn.boxes, run, frame, x(6_500), box.batches + 5)).toBeUndefined();
  });

  test('only what is in sight is drawn', () => {
    const all = band(batches, run, frame).markup;
    const none = band(batches, run, { ...frame, from: 18_000 }).markup;
    expect(all).toContain('m-works');
    expect(none).not.toContain('m-works');
  });

  test.each(BUILTINS.map(({ id, make }) => [id, make] as const))(
    '%s: the work at risk is drawn where it is, however little room there is',
    (_, make) => {
      const { batches, runs } = packed(make());
      let looked = 0;
      for (const run of runs) {
        const narrow = { width: 500, from: 0, to: Math.min(run.until, 1_200_000), riskMax: 400_000 };
        const { markup, boxes } = band(batches, run, narrow);
        const x = timeScale(narrow);
        const lines = [...markup.matchAll(/class="m-risk-line" d="M([^"]+)"/g)].map(([, line]) => line ?? '');
        for (const [place, line] of lines.entries()) {
          const [box, lane] = [boxes[place], run.lanes[place]];
          if (box === undefined || lane === undefined) throw new Error('a line without a lane');
          const points = line.split('L').map((point) => point.split(' ').map(Number) as [number, number]);
          for (const [at, [left, top]] of points.entries()) {
            const [right, bottom] = points[at + 1] ?? [left, top];
            if (right - left < 4) continue;
            const lost = riskAt(lane.risk, x.invert((left + right) / 2));
            const drawn = box.riskBase - (lost / 400_000) * (box.riskBase - box.riskTop);
            expect(Math.abs((top + bottom) / 2 - drawn)).toBeLessThan(1);
            looked += 1;
          }
        }
      }
      expect(looked).toBeGreaterThan(10);
    },
  );

  test('bars that nobody could tell apart become one', () => {
    const strokes = new Strokes();
    for (let place = 0; place < 1_000; place++) strokes.bar(place * 0.1, place * 0.1 + 0.05, 0, 10);
    expect(strokes.path('x').match(/M/g)?.length).toBe(1);
    const apart = new Strokes();
    for (const left of [0, 10, 20]) apart.bar(left, left + 5, 0, 10);
    expect(apart.path('x').match(/M/g)?.length).toBe(3);
  });
});

test('keys lead along the lane, to the next one and to the next policy', () => {
  const { batches, runs } = packed({
    ...scenario,
    batches: scenario.batches.map((one, place) => ({ ...one, sandbox: place < 2 ? 'a' : 'b' })),
  });
  const go = (key: string, policy: number, batch: number) => neighbour(key, batches, runs, policy, batch);
  expect(go('ArrowRight', 0, 0)).toEqual({ policy: 0, batch: 1 });
  expect(go('ArrowRight', 0, 1)).toEqual({ policy: 0, batch: 1 });
  expect(go('ArrowDown', 0, 1)).toEqual({ policy: 0, batch: 2 });
  expect(go('ArrowDown', 0, 3)).toEqual({ policy: 1, batch: 1 });
  expect(go('ArrowUp', 0, 0)).toBeUndefined();
  expect(go('End', 1, 2)).toEqual({ policy: 1, batch: 3 });
  expect(go('x', 0, 0)).toBeUndefined();
});

test('CSV: one row a batch and policy, empty where something does not apply', () => {
  const blocked: Simulation = simulate({
    ...scenario,
    driver: { failureRate: 1 },
    policies: [{ name: 'mine', kind: 'per_turn', onFailure: 'block' }],
  });
  const batches = packBatches(scenario);
  const rows = csv(batches, packRuns(blocked, batches)).split('\r\n');
  expect(rows).toHaveLength(1 + 4 + 1);
  expect(rows[0]).toMatch(/^\ufeffpolicy,/);
  const [head, first] = rows.map((row) => row.split(','));
  const at = (name: string) => first?.[head?.indexOf(name) ?? -1];
  expect([at('started_ms'), at('outcome'), at('returns_to'), at('waited_ms')]).toEqual(['', 'failed', '', '50']);
});

test.each([
  ['=1+1', `'=1+1`],
  ['\t=1', `"'\t=1"`],
  ['\n+1', `"'\n+1"`],
  ['\r@x', `"'\r@x"`],
  ['\r\n -1', `"'\r\n -1"`],
  ['\ttext', `"'\ttext"`],
  ['  =1', `'  =1`],
  ['\uff1d1', `'\uff1d1`],
  ['\uff0b1', `'\uff0b1`],
  ['\uff0d1', `'\uff0d1`],
  ['\uff20x', `'\uff20x`],
  ['a;=1', `"a;=1"`],
  ['a=1', 'a=1'],
  ['-', `'-`],
])('CSV: the tool %j is written as %j, which no spreadsheet runs', (tool, cell) => {
  const named = { ...scenario, batches: scenario.batches.slice(0, 1).map((one) => ({ ...one, tool })) };
  const { batches, runs } = packed(named);
  const [, row] = csv(batches, runs.slice(0, 1)).split(/\r\n(?=0,|$)/);
  expect(row).toBe(
    `0,once a turn,0,box,a,${cell},destructive,0,100,1100,100,created,new_turn,true,false,1,succeeded,1,0,0,0`,
  );
});
