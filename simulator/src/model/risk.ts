import { ATTEMPT_OUTCOMES, type Batches, type Risk } from './columns.js';
import type { Columns } from './lanes.js';

const SUCCEEDED = ATTEMPT_OUTCOMES.indexOf('succeeded');

/** What happens at one moment, in the order in which it counts there. */
const [ENDS, PICTURES, COMPLETE, BEGINS] = [0, 1, 2, 3] as const;

/**
 * What a rollback would throw away at each moment of a lane: the work (running time of destructive batches) since the beginning of the
 * newest checkpoint that is complete by then. A checkpoint holds what was there when its attempt began, so that work that was done beside
 * it stays at risk.
 */
export function riskOf(batches: Batches, run: Columns, order: Int32Array, attempts: Int32Array): Risk {
  const moments: { time: number; kind: number; place: number }[] = [];
  for (const batch of order) {
    const start = run.start[batch] ?? Number.NaN;
    if (Number.isNaN(start) || batches.destructive[batch] !== 1) continue;
    moments.push({ time: start, kind: BEGINS, place: batch });
    moments.push({ time: run.end[batch] ?? start, kind: ENDS, place: batch });
  }
  for (const place of attempts) {
    if (run.attempts.outcome[place] !== SUCCEEDED) continue;
    moments.push({ time: run.attempts.at[place] ?? 0, kind: PICTURES, place });
    moments.push({ time: run.attempts.end[place] ?? 0, kind: COMPLETE, place });
  }
  moments.sort((a, b) => a.time - b.time || a.kind - b.kind);

  const at: number[] = [0];
  const lost: number[] = [0];
  const pictured = new Map<number, number>();
  let [time, running, done, safe] = [0, 0, 0, 0];
  let nothingUntil = Number.POSITIVE_INFINITY;
  for (const moment of moments) {
    done += running * (moment.time - time);
    time = moment.time;
    at.push(time);
    lost.push(done - safe);
    if (moment.kind === BEGINS) running += 1;
    else if (moment.kind === ENDS) running -= 1;
    else if (moment.kind === PICTURES) pictured.set(moment.place, done);
    else {
      nothingUntil = Math.min(nothingUntil, time);
      safe = Math.max(safe, pictured.get(moment.place) ?? 0);
      at.push(time);
      lost.push(done - safe);
    }
  }
  return { at: Float64Array.from(at), lost: Float64Array.from(lost), nothingUntil };
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
