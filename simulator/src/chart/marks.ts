import type { ScaleLinear } from 'd3-scale';
import { ATTEMPT_OUTCOMES, type Batches, type Run } from '../model/columns.js';
import { isBare } from '../model/describe.js';
import { drawnFrom, drawnTo, firstReaching } from '../model/lanes.js';
import { turnNames } from '../model/turn-names.js';
import { textWidth } from './fit.js';
import type { Frame } from './frame.js';
import { BATCH, barTop, type LaneBox, TURN_ROW } from './geometry.js';
import { escapeText, Layers, px, Strokes } from './strokes.js';

type X = ScaleLinear<number, number>;

const [SUCCEEDED, FAILED] = [ATTEMPT_OUTCOMES.indexOf('succeeded'), ATTEMPT_OUTCOMES.indexOf('failed')];
/** Signs that stand closer than this become lines. */
const SIGN_ROOM = 9;

/** The turns of a lane: a bracket from first to last batch, and a name where there is room. */
export function turnMarks(box: LaneBox, batches: Batches, frame: Frame, x: X): string {
  const brackets = new Strokes();
  const labels: string[] = [];
  const { spans } = box.lane;
  const names = turnNames(batches.turns);
  for (let place = 0; place < spans.turn.length; place++) {
    const [from, to] = [spans.from[place] ?? 0, spans.to[place] ?? 0];
    if (to < frame.from || from > frame.to) continue;
    const [left, right] = [x(from), Math.max(x(to), x(from) + 2)];
    const y = box.turns + (spans.row[place] ?? 0) * TURN_ROW;
    if (right - left < 5) {
      brackets.bar(left, right - 1, y + 11, 1.5);
      continue;
    }
    brackets.add(`M${px(left)} ${px(y + 14)}v-3H${px(right)}v3h-1v-2H${px(left + 1)}v2z`);
    const name = names[spans.turn[place] ?? 0] ?? '';
    const start = Math.max(left, 0);
    if (textWidth(name) < Math.min(right, frame.width) - start - 2) {
      labels.push(`<text class="t-turn" x="${px(start + 1)}" y="${px(y + 8)}">${escapeText(name)}</text>`);
    }
  }
  return brackets.path('m-turn') + labels.join('');
}

/** The batches of a lane: what they waited, and what they ran. */
export function batchMarks(box: LaneBox, batches: Batches, run: Run, frame: Frame, x: X): string {
  const layers = new Layers('wait', 'reads', 'works', 'bare', 'refused', 'across');
  const { wait, reads, works, bare, refused, across } = layers.of;
  const { lane } = box;
  for (let place = firstReaching(lane.reach, frame.from); place < lane.order.length; place++) {
    const batch = lane.order[place] ?? 0;
    const from = drawnFrom(run, batch);
    if (from > frame.to) break;
    const to = drawnTo(run, batch);
    if (to < frame.from) continue;
    const y = barTop(box, lane.row[place] ?? 0);
    const start = run.start[batch] ?? Number.NaN;
    if (Number.isNaN(start)) {
      const at = x(from);
      refused.add(`M${px(at)} ${px(y + 2)}h10v10h-10zm2 2l6 6m0-6l-6 6`);
      continue;
    }
    const [asked, left, right] = [x(from), x(start), x(to)];
    if (left - asked >= 0.5) wait.bar(asked, left, y + BATCH / 2 - 2, 4);
    const kind = batches.destructive[batch] !== 1 ? reads : isBare(batches, run, batch) ? bare : works;
    kind.bar(left, right - (right - left > 4 ? 0.75 : 0), y, BATCH);
    if ((run.lostTurns[batch] ?? 0) > 0 && batches.destructive[batch] === 1) across.bar(left, right, y + BATCH + 1, 2);
  }
  return layers.markup();
}

/** The attempts of a lane: how long each took, and a sign for what became of it. */
export function attemptMarks(box: LaneBox, run: Run, frame: Frame, x: X): string {
  const layers = new Layers('guard', 'gone-line', 'attempt', 'late', 'lost', 'failed', 'gone', 'kept');
  const { guard, attempt: line, late, lost, failed, gone, kept } = layers.of;
  const { attempts } = run;
  const y = box.attempts;
  const first = firstReaching(box.lane.attemptReach, frame.from);
  const dense = isDense(box, run, frame, first);
  let lastSign = Number.NEGATIVE_INFINITY;
  for (let place = first; place < box.lane.attempts.length; place++) {
    const attempt = box.lane.attempts[place] ?? 0;
    const at = attempts.at[attempt] ?? 0;
    if (at > frame.to) break;
    const [left, right] = [x(at), x(attempts.end[attempt] ?? at)];
    const outcome = attempts.outcome[attempt];
    if (right < -SIGN_ROOM && !((attempts.driverEnd[attempt] ?? 0) > frame.from)) continue;
    const room = !dense && right - lastSign >= SIGN_ROOM;
    if (room) lastSign = right;
    if (outcome === SUCCEEDED) {
      const isKept = attempts.kept[attempt] === 1;
      if (dense) {
        (isKept ? kept : layers.of['gone-line']).bar(right - 0.5, right + 0.5, y - 4, 8);
        continue;
      }
      line.bar(left, right, y - 1, 2);
      guard.bar(right - 0.5, right + 0.5, y, box.riskBase - y);
      if (room) (isKept ? kept : gone).add(`M${px(right)} ${px(y - 5)}l5 5l-5 5l-5-5z`);
      else kept.bar(right - 0.5, right + 0.5, y - 4, 8);
    } else if (outcome === FAILED) {
      lost.bar(left, right, y - 1, 2);
      if (room) failed.add(`M${px(right - 4)} ${px(y - 4)}l8 8m0-8l-8 8`);
      else failed.add(`M${px(right)} ${px(y - 4)}v8`);
    } else {
      lost.bar(left, right, y - 1, 2);
      failed.add(`M${px(right)} ${px(y - 5)}v10${room ? 'm-4-10v10' : ''}`);
      const answer = attempts.driverEnd[attempt] ?? Number.NaN;
      if (!Number.isNaN(answer) && answer > (attempts.end[attempt] ?? at)) late.bar(right, x(answer), y - 0.5, 1);
    }
  }
  return layers.markup();
}

/** Whether checkpoints stand so closely that lines through the lane would hide it. */
function isDense(box: LaneBox, run: Run, frame: Frame, first: number): boolean {
  let last = first;
  while (last < box.lane.attempts.length && (run.attempts.at[box.lane.attempts[last] ?? 0] ?? 0) <= frame.to) last++;
  return last - first > frame.width / SIGN_ROOM;
}
