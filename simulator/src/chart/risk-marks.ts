import type { ScaleLinear } from 'd3-scale';
import type { Risk, Run } from '../model/columns.js';
import { duration } from '../model/format.js';
import { drawnFrom, firstReaching } from '../model/lanes.js';
import { placeAfter, riskAt } from '../model/risk.js';
import { textWidth } from './fit.js';
import type { Frame } from './frame.js';
import type { LaneBox } from './geometry.js';
import { px } from './strokes.js';

type X = ScaleLinear<number, number>;

/** A moment and what would be lost there. */
interface Point {
  readonly at: number;
  readonly lost: number;
}

/** The work at risk: an area that grows while batches work and falls with each checkpoint, with its peak in words. */
export function riskMarks(box: LaneBox, run: Run, frame: Frame, x: X): string {
  const { risk } = box.lane;
  const end = Math.min(frame.to, run.until);
  const height = box.riskBase - box.riskTop;
  const y = (lost: number) =>
    box.riskBase - (frame.riskMax === 0 ? 0 : (Math.min(lost, frame.riskMax) / frame.riskMax) * height);
  const label = `<text class="t-risk" x="${px(frame.width - 8)}" y="${px(box.riskBase + 11)}" text-anchor="end">work at risk</text>`;
  const parts = [`<path class="m-base" d="M0 ${px(box.riskBase)}H${px(frame.width)}"/>${label}`];
  const bare = Math.min(risk.nothingUntil, end);
  if (bare > frame.from && x(bare) - x(Math.max(0, frame.from)) > 1) {
    const [left, right] = [x(Math.max(frame.from, 0)), x(bare)];
    parts.push(
      `<path class="m-nothing" d="M${px(left)} ${px(box.riskTop)}H${px(right)}V${px(box.riskBase)}H${px(left)}z"/>`,
    );
    const said = 'nothing to go back to';
    if (textWidth(said) + 16 < right - left) {
      parts.push(`<text class="t-nothing" x="${px(left + 8)}" y="${px(box.riskBase - height / 2 + 4)}">${said}</text>`);
    }
  }
  if (risk.nothingUntil >= end) return parts.join('');
  const points = pointsOf(risk, Math.max(frame.from, risk.nothingUntil), end, x);
  const first = points[0];
  const last = points.at(-1);
  if (first === undefined || last === undefined) return parts.join('');
  const line = points.map((point) => `${px(x(point.at))} ${px(y(point.lost))}`).join('L');
  parts.push(
    `<path class="m-risk" d="M${px(x(first.at))} ${px(box.riskBase)}L${line}L${px(x(last.at))} ${px(box.riskBase)}z"/>`,
  );
  parts.push(`<path class="m-risk-line" d="M${line}"/>`);
  const peak = worst(box, run, frame);
  if (peak !== undefined) parts.push(peakLabel(peak, box, frame, x, y));
  return parts.join('');
}

/** The batch in sight whose rollback would cost the most, at its beginning. */
function worst({ lane }: LaneBox, run: Run, frame: Frame): Point | undefined {
  let found: Point | undefined;
  for (let place = firstReaching(lane.reach, frame.from); place < lane.order.length; place++) {
    const batch = lane.order[place] ?? 0;
    if (drawnFrom(run, batch) > frame.to) break;
    const [at, lost] = [run.start[batch] ?? Number.NaN, run.lostMs[batch] ?? 0];
    if (lost > (found?.lost ?? 0) && at >= frame.from && at <= frame.to && (run.returnsTo[batch] ?? -1) >= 0)
      found = { at, lost };
  }
  return found;
}

/** What the worst rollback comes to. The curve may go above it: that has the batch in it that runs. */
function peakLabel(peak: Point, box: LaneBox, frame: Frame, x: X, y: (lost: number) => number): string {
  const [left, top] = [x(peak.at), y(peak.lost)];
  const long = `${duration(peak.lost)} of earlier work`;
  // Where it has no room before the dot, the legend says what the dot is.
  const said = textWidth(long) + 8 < left ? long : duration(peak.lost);
  const width = textWidth(said);
  const beside = left - width - 8 > 0 ? left - 6 : Math.min(left + width + 6, frame.width);
  return (
    `<circle class="m-peak" cx="${px(left)}" cy="${px(top)}" r="2.5"/>` +
    `<text class="t-peak" x="${px(beside)}" y="${px(Math.max(top - 3, box.riskTop - 2))}" text-anchor="end">${said}</text>`
  );
}

/** The points of a stretch; of those that fall on one column of pixels the first, the lowest, the highest and the last are enough. */
function pointsOf(risk: Risk, from: number, to: number, x: X): Point[] {
  const points: Point[] = [{ at: from, lost: riskAt(risk, from) }];
  let column = Number.NaN;
  let kept: Point[] = [];
  for (let place = placeAfter(risk, from); place < risk.at.length; place++) {
    const at = risk.at[place] ?? 0;
    if (at > to) break;
    const mine = Math.round(x(at));
    if (mine !== column) {
      points.push(...outlineOf(kept));
      column = mine;
      kept = [];
    }
    kept.push({ at, lost: risk.lost[place] ?? 0 });
  }
  points.push(...outlineOf(kept), { at: to, lost: riskAt(risk, to) });
  return points;
}

/** Of the points of a column those that can be seen, in their order. */
function outlineOf(column: readonly Point[]): readonly Point[] {
  if (column.length <= 4) return column;
  let [lowest, highest] = [0, 0];
  for (const [place, { lost }] of column.entries()) {
    if (lost < (column[lowest]?.lost ?? 0)) lowest = place;
    if (lost > (column[highest]?.lost ?? 0)) highest = place;
  }
  const seen = new Set([0, Math.min(lowest, highest), Math.max(lowest, highest), column.length - 1]);
  return column.filter((_, place) => seen.has(place));
}
