import type { Batches, Run } from '../model/columns.js';
import { fittedText } from './fit.js';
import { type Frame, ticks, timeScale } from './frame.js';
import { boxesOf, type LaneBox } from './geometry.js';
import { attemptMarks, batchMarks, turnMarks } from './marks.js';
import { riskMarks } from './risk-marks.js';
import { px } from './strokes.js';

/** Where a sandbox's name stands in its lane, and how large its letters are, in pixels. */
const NAME_AT = 14;
const NAME_SIZE = 12;

/** The picture of one policy: the markup of an SVG's inside, and what is needed to find a mark in it again. */
export interface Band {
  readonly markup: string;
  readonly height: number;
  readonly boxes: readonly LaneBox[];
}

/** Draws what became of the batches under one policy. Only what the frame shows is looked at. */
export function band(batches: Batches, run: Run, frame: Frame): Band {
  const { boxes, height } = boxesOf(run.lanes);
  const x = timeScale(frame);
  const grid = ticks(frame, batches.origin)
    .map((tick) => `M${px(x(tick))} 0V${px(height)}`)
    .join('');
  const lanes = boxes.map((box, place) => {
    const name = batches.sandboxes[box.lane.sandbox] ?? '';
    const rule = place === 0 ? '' : `<path class="m-rule" d="M0 ${px(box.top)}H${px(frame.width)}"/>`;
    const title =
      box.name === undefined
        ? ''
        : `<text class="t-lane" x="${NAME_AT}" y="${px(box.name)}">${fittedText(name, frame.width - 2 * NAME_AT, NAME_SIZE)}</text>`;
    return (
      rule +
      title +
      riskMarks(box, run, frame, x) +
      turnMarks(box, batches, frame, x) +
      batchMarks(box, batches, run, frame, x) +
      attemptMarks(box, run, frame, x)
    );
  });
  return { markup: `<path class="m-grid" d="${grid}"/>${lanes.join('')}`, height, boxes };
}
