import type { Summary } from 'turnback-policy/simulate';
import { duration, plural } from './format.js';

/** What a rollback costs a policy at worst; the one rule of headline, bands, table, saved picture and command line. */

/** Whether some batch had nothing to go back to: then the worst that can be lost is everything, whatever the others could go back to. */
export const losesEverything = ({ lost }: Summary): boolean => lost.nothing > 0;

/** The most earlier work that one rollback throws away, in milliseconds; Infinity: everything. */
export const worstMs = (summary: Summary): number =>
  losesEverything(summary) ? Number.POSITIVE_INFINITY : summary.lost.maxMs;

/** The same in words. */
export const worstText = (summary: Summary): string =>
  losesEverything(summary) ? 'everything' : duration(summary.lost.maxMs);

/** For how many batches the worst is everything: `in 2 batches`; empty where it is not everything. */
export const inHowMany = ({ lost }: Summary): string =>
  lost.nothing === 0 ? '' : `in ${plural(lost.nothing, 'batch', 'batches')}`;

/** A figure that only speaks of batches with a way back, next to those that have none. */
export function orEverything(summary: Summary, value: number, text: string): string {
  if (!losesEverything(summary)) return text;
  return value === 0 ? 'everything' : `${text}, or everything`;
}
