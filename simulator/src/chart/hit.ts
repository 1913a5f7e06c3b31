import type { Run } from '../model/columns.js';
import { drawnFrom, drawnTo, firstReaching } from '../model/lanes.js';
import { type Frame, timeScale } from './frame.js';
import { barTop, type LaneBox, ROW } from './geometry.js';

/** A mark that the reader points at. */
export type Hit =
  | { readonly kind: 'batch'; readonly batch: number }
  | { readonly kind: 'attempt'; readonly attempt: number };

/** How far beside a mark still counts as on it, in pixels. */
const REACH = 6;

/** The mark at a place of a band: an attempt on their track, else the batch in that row or above that part of the area. */
export function hit(boxes: readonly LaneBox[], run: Run, frame: Frame, left: number, top: number): Hit | undefined {
  const box = boxes.find((one) => top >= one.top && top < one.bottom);
  if (box === undefined) return undefined;
  if (Math.abs(top - box.attempts) < 9) {
    const attempt = attemptAt(box, run, frame, left);
    if (attempt !== undefined) return { kind: 'attempt', attempt };
  }
  const batch = batchAt(box, run, frame, left, top);
  return batch === undefined ? undefined : { kind: 'batch', batch };
}

function batchAt(box: LaneBox, run: Run, frame: Frame, left: number, top: number): number | undefined {
  const { lane } = box;
  const x = timeScale(frame);
  const [from, to] = [x.invert(left - REACH), x.invert(left + REACH)];
  let best: { batch: number; distance: number } | undefined;
  for (let place = firstReaching(lane.reach, from); place < lane.order.length; place++) {
    const batch = lane.order[place] ?? 0;
    const begin = drawnFrom(run, batch);
    if (begin > to) break;
    const [start, end] = [x(begin), x(drawnTo(run, batch))];
    if (end < left - REACH) continue;
    const y = barTop(box, lane.row[place] ?? 0) + ROW / 2;
    const sideways = left < start ? start - left : left > end ? left - end : 0;
    // Beside the rows, time alone counts.
    const upright = top > box.riskTop - 10 || top < box.batches ? 0 : Math.abs(top - y);
    const distance = sideways * 2 + upright;
    if (best === undefined || distance < best.distance) best = { batch, distance };
  }
  return best?.batch;
}

function attemptAt(box: LaneBox, run: Run, frame: Frame, left: number): number | undefined {
  const { attempts } = run;
  const x = timeScale(frame);
  const to = x.invert(left + REACH);
  let best: { attempt: number; distance: number } | undefined;
  for (
    let place = firstReaching(box.lane.attemptReach, x.invert(left - REACH));
    place < box.lane.attempts.length;
    place++
  ) {
    const attempt = box.lane.attempts[place] ?? 0;
    if ((attempts.at[attempt] ?? 0) > to) break;
    const [start, end] = [x(attempts.at[attempt] ?? 0), x(attempts.end[attempt] ?? 0)];
    const distance = left < start ? start - left : left > end ? left - end : 0;
    if (distance <= REACH && (best === undefined || distance < best.distance)) best = { attempt, distance };
  }
  return best?.attempt;
}
