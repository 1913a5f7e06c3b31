import type { Batches, Lane, Run, Spans } from './columns.js';
import { bytes, floats, ints } from './fill.js';
import { riskOf } from './risk.js';

/** What lanes are made of. */
export type Columns = Pick<Run, 'at' | 'start' | 'end' | 'attempts'>;

/** As many rows as one lane shows; what is more runs together in the last one. */
const MOST_ROWS = 6;

/** From when on a batch is drawn: from its question, its waiting included. */
export const drawnFrom = (run: Columns, batch: number): number => run.at[batch] ?? 0;

/** To when a batch is drawn; one that was refused up to its refusal. */
export function drawnTo(run: Columns, batch: number): number {
  const end = run.end[batch] ?? Number.NaN;
  return Number.isNaN(end) ? (run.at[batch] ?? 0) : end;
}

/** One lane for each sandbox, in the order in which the scenario names them. */
export function lanesOf(batches: Batches, run: Columns): Lane[] {
  const places: number[][] = batches.sandboxes.map(() => []);
  for (let batch = 0; batch < batches.count; batch++) places[batches.sandbox[batch] ?? 0]?.push(batch);
  const attempts: number[][] = batches.sandboxes.map(() => []);
  for (let place = 0; place < run.attempts.count; place++) attempts[run.attempts.sandbox[place] ?? 0]?.push(place);
  const turnPlaces = new Int32Array(batches.turns.length);
  return places.map((mine, sandbox) => {
    mine.sort((a, b) => drawnFrom(run, a) - drawnFrom(run, b) || a - b);
    const order = Int32Array.from(mine);
    const own = Int32Array.from(attempts[sandbox] ?? []);
    const to = floats(mine, (batch) => drawnTo(run, batch));
    const stacked = stack(
      floats(mine, (batch) => drawnFrom(run, batch)),
      to,
      MOST_ROWS,
    );
    return {
      sandbox,
      order,
      reach: reachOf(to),
      ...stacked,
      attempts: own,
      attemptReach: reachOf(floats(own, (place) => lastOf(run, place))),
      spans: spansOf(batches, run, order, turnPlaces),
      risk: riskOf(batches, run, order, own),
    };
  });
}

/** The last moment at which something of an attempt is drawn. */
function lastOf(run: Columns, place: number): number {
  const driver = run.attempts.driverEnd[place] ?? Number.NaN;
  const end = run.attempts.end[place] ?? 0;
  return Number.isNaN(driver) ? end : Math.max(end, driver);
}

/** The largest so far, at each place. */
function reachOf(ends: ArrayLike<number>): Float64Array {
  let latest = Number.NEGATIVE_INFINITY;
  return floats(ends, (end) => {
    latest = Math.max(latest, end);
    return latest;
  });
}

/** Gives each stretch the first row that is free, so that those that overlap lie beneath one another. Sorted by beginning. */
export function stack(from: ArrayLike<number>, to: ArrayLike<number>, most: number): { row: Uint8Array; rows: number } {
  const free: number[] = [];
  const row = bytes(from, (begin, place) => {
    const found = free.findIndex((end) => end <= begin);
    const mine = found >= 0 ? found : Math.min(free.length, most - 1);
    free[mine] = Math.max(free[mine] ?? 0, to[place] ?? begin);
    return mine;
  });
  return { row, rows: Math.max(1, free.length) };
}

/**
 * From when to when each turn is at work in a lane.
 *
 * @param places room for a number for each turn, the same for all lanes: what is in it from another lane is not looked at
 */
function spansOf(batches: Batches, run: Columns, order: Int32Array, places: Int32Array): Spans {
  const turns: number[] = [];
  const from: number[] = [];
  const to: number[] = [];
  for (const batch of order) {
    const turn = batches.turn[batch] ?? -1;
    if (turn < 0) continue;
    const known = places[turn] ?? 0;
    if (turns[known] === turn) {
      to[known] = Math.max(to[known] ?? 0, drawnTo(run, batch));
      continue;
    }
    places[turn] = turns.push(turn) - 1;
    from.push(drawnFrom(run, batch));
    to.push(drawnTo(run, batch));
  }
  return {
    turn: ints(turns, (turn) => turn),
    from: floats(from, (time) => time),
    to: floats(to, (time) => time),
    ...stack(from, to, 3),
  };
}

/** The first place whose `reach` comes up to `time`, of columns that only grow. */
export function firstReaching(reach: Float64Array, time: number): number {
  let [low, high] = [0, reach.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((reach[middle] ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}
