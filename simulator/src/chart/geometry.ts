import type { Lane } from '../model/columns.js';

/** Where the parts of a lane stand, in pixels from the top of its band. */
export interface LaneBox {
  readonly lane: Lane;
  readonly top: number;
  readonly bottom: number;
  /** The baseline of the sandbox's name; `undefined`: there is only one, and it needs none. */
  readonly name: number | undefined;
  /** The first row of turns. */
  readonly turns: number;
  /** The middle of the track of attempts. */
  readonly attempts: number;
  /** The top of the first row of batches. */
  readonly batches: number;
  /** Top and baseline of the work at risk. */
  readonly riskTop: number;
  readonly riskBase: number;
}

/** Heights in pixels. */
export const BATCH = 14;
export const ROW = 18;
export const TURN_ROW = 15;
const NAME = 18;
const ATTEMPT = 18;
/** Of the work at risk: of one lane alone, of one of a few, of one of many. */
const RISK = [60, 42, 26] as const;
const RISK_GAP = 12;
const PAD = 18;
/** With more lanes than this each one is lower. */
const MANY = 4;

/** Stands the lanes of a band below one another. */
export function boxesOf(lanes: readonly Lane[]): { boxes: LaneBox[]; height: number } {
  let top = 0;
  const risk = RISK[lanes.length === 1 ? 0 : lanes.length > MANY ? 2 : 1];
  const boxes = lanes.map((lane): LaneBox => {
    const name = lanes.length > 1 ? top + 13 : undefined;
    const turns = top + (name === undefined ? 4 : NAME + 2);
    const attempts = turns + lane.spans.rows * TURN_ROW + ATTEMPT / 2;
    const batches = attempts + ATTEMPT / 2 + 2;
    const riskTop = batches + lane.rows * ROW + RISK_GAP;
    const riskBase = riskTop + risk;
    const bottom = riskBase + PAD;
    const box = { lane, top, bottom, name, turns, attempts, batches, riskTop, riskBase };
    top = bottom;
    return box;
  });
  return { boxes, height: top };
}

/** The top of a batch's bar. */
export const barTop = (box: LaneBox, row: number): number => box.batches + row * ROW;
