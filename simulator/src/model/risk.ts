import { ATTEMPT_OUTCOMES, type Batches, type Risk } from './columns.js';
import { floats, ints } from './fill.js';
import type { Columns } from './lanes.js';

const SUCCEEDED = ATTEMPT_OUTCOMES.indexOf('succeeded');

/**
 * What a rollback would throw away at each moment of a lane: the work (running time of destructive batches) since the beginning of the
 * newest checkpoint that is complete by then. A checkpoint holds what was there when its attempt began, so that work that was done beside
 * it stays at risk.
 */
export function riskOf(batches: Batches, run: Columns, order: Int32Array, attempts: Int32Array): Risk {
  const work = order.filter((batch) => batches.destructive[batch] === 1 && !Number.isNaN(run.start[batch]));
  const made = attempts.filter((place) => run.attempts.outcome[place] === SUCCEEDED);
  const begins = floats(work, (batch) => run.start[batch] ?? 0).sort();
  const ends = floats(work, (batch) => run.end[batch] ?? 0).sort();
  // Attempts come by their beginnings.
  const pictured = floats(made, (place) => run.attempts.at[place] ?? 0);
  // In the order in which they were complete, which nearly always is that of their beginnings: sorting those anew takes a tenth of a second.
  const done = ints(made, (_, place) => place);
  const later = (a: number, b: number) => endOf(run, made, a) - endOf(run, made, b);
  if (done.some((place) => place > 0 && later(place - 1, place) > 0)) done.sort(later);
  const complete = floats(done, (place) => endOf(run, made, place));

  const outline = new Outline(2 * work.length + 3 * made.length + 1);
  /** The work that had been done when each attempt began. */
  const before = new Float64Array(made.length);
  let [time, running, all, safe] = [0, 0, 0, 0];
  let [begin, end, picture, ready] = [0, 0, 0, 0];
  while (end < ends.length || ready < complete.length) {
    const at = Math.min(next(begins, begin), next(ends, end), next(pictured, picture), next(complete, ready));
    all += running * (at - time);
    time = at;
    outline.add(time, all - safe);
    // What ends in this instant is in a checkpoint of this instant, and what begins is not.
    if (next(ends, end) === at) {
      running -= 1;
      end += 1;
    } else if (next(pictured, picture) === at) {
      before[picture] = all;
      picture += 1;
    } else if (next(complete, ready) === at) {
      safe = Math.max(safe, before[done[ready] ?? 0] ?? 0);
      ready += 1;
      outline.add(time, all - safe);
    } else {
      running += 1;
      begin += 1;
    }
  }
  return { ...outline.columns, nothingUntil: complete[0] ?? Number.POSITIVE_INFINITY };
}

const endOf = (run: Columns, made: Int32Array, place: number): number => run.attempts.end[made[place] ?? 0] ?? 0;

/** The moment at a place of a sorted column; behind its end there is none. */
const next = (column: Float64Array, place: number): number => column[place] ?? Number.POSITIVE_INFINITY;

/** The points of a curve, one after the other. */
class Outline {
  readonly #at: Float64Array;
  readonly #lost: Float64Array;
  /** It begins at 0, where nothing is lost yet. */
  #count = 1;

  constructor(most: number) {
    this.#at = new Float64Array(most);
    this.#lost = new Float64Array(most);
  }

  add(at: number, lost: number): void {
    this.#at[this.#count] = at;
    this.#lost[this.#count] = lost;
    this.#count += 1;
  }

  get columns(): Pick<Risk, 'at' | 'lost'> {
    return { at: this.#at.slice(0, this.#count), lost: this.#lost.slice(0, this.#count) };
  }
}

/** What a rollback would throw away at `time`. */
export function riskAt(risk: Risk, time: number): number {
  const after = placeAfter(risk, time);
  const before = after - 1;
  const from = risk.lost[before] ?? 0;
  if (after >= risk.at.length) return from;
  const [left, right] = [risk.at[before] ?? 0, risk.at[after] ?? 0];
  return right === left ? from : from + (((risk.lost[after] ?? 0) - from) * (time - left)) / (right - left);
}

/** The most that a rollback would throw away in a stretch, where there is a checkpoint to go back to. */
export function highestRisk(risk: Risk, from: number, to: number): number {
  const begin = Math.max(from, risk.nothingUntil);
  if (begin > to) return 0;
  let highest = Math.max(riskAt(risk, begin), riskAt(risk, to));
  for (let place = placeAfter(risk, begin); place < risk.at.length && (risk.at[place] ?? 0) <= to; place++) {
    highest = Math.max(highest, risk.lost[place] ?? 0);
  }
  return highest;
}

/** The first point after a moment. */
export function placeAfter(risk: Risk, time: number): number {
  let [low, high] = [0, risk.at.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((risk.at[middle] ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
