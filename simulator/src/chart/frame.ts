import { scaleLinear } from 'd3-scale';
import { clock } from '../model/format.js';
import { textWidth } from './fit.js';

/** What of the time is shown, and how wide. */
export interface Frame {
  /** Pixels. */
  readonly width: number;
  /** Milliseconds: the first moment shown, and the last. */
  readonly from: number;
  readonly to: number;
  /** Milliseconds of work: what the full height of the work at risk stands for, the same in every band. */
  readonly riskMax: number;
}

/** From moments to pixels. */
export const timeScale = (frame: Frame) => scaleLinear([frame.from, frame.to], [0, frame.width]);

const S = 1000;
const M = 60 * S;
const H = 60 * M;
/** Distances between the lines of the axis that people can count with. */
const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500,
  S, 2 * S, 5 * S, 10 * S, 15 * S, 30 * S,
  M, 2 * M, 5 * M, 10 * M, 15 * M, 30 * M,
  H, 2 * H, 3 * H, 6 * H, 12 * H, 24 * H,
]; // biome-ignore format: a line for each unit

/** Between one label of the axis and the next, in pixels. */
const GAP = 24;

/** The moments at which the axis has a line: about one for each 90 pixels, fewer where their labels are long. */
export function ticks(frame: Frame, origin: number): number[] {
  const span = frame.to - frame.from;
  const most = (step: number) =>
    Math.max(2, Math.floor(frame.width / Math.max(90, longest(frame, origin, step) + GAP)));
  const step = STEPS.find((one) => span / one <= most(one)) ?? 24 * H * Math.ceil(span / most(24 * H) / (24 * H));
  const found: number[] = [];
  // Before the beginning there is air, and no time.
  const first = origin + Math.max(0, Math.ceil((frame.from - origin) / step)) * step;
  for (let at = first; at <= frame.to; at += step) found.push(at);
  return found;
}

/** How wide a label can be with lines at that distance, in pixels: the last moment has the most digits, and its neighbour perhaps a fraction. */
function longest(frame: Frame, origin: number, step: number): number {
  const last = Math.floor((frame.to - origin) / step) * step;
  return Math.max(...[last, last - step].map((at) => textWidth(clock(Math.max(0, at)))));
}

/** A moment as finely as a pixel tells it apart, and a sentence does: from 100 ms down to 1 ms. */
export function pointed(frame: Frame, moment: number): string {
  const perPixel = (frame.to - frame.from) / frame.width;
  const grain = [100, 10].find((one) => perPixel >= one) ?? 1;
  return clock(Math.max(0, Math.round(moment / grain) * grain));
}
