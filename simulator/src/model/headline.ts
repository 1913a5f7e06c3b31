import type { Summary } from 'turnback-policy/simulate';
import type { Lead } from '../scenarios/index.js';
import { calledAll, type Told } from './called.js';
import { duration, number, plural } from './format.js';
import { inHowMany, losesEverything, worstMs, worstText } from './worst.js';

const skippedOf = (summary: Summary) => Object.values(summary.skipped).reduce((sum, count) => sum + count, 0);
const atHead = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);
const batches = (count: number) => (count === 0 ? 'no batch' : plural(count, 'batch', 'batches'));
const checkpoints = (count: number) => (count === 0 ? 'no checkpoint' : plural(count, 'checkpoint'));
const waits = ({ summary }: Told) => `waits ${duration(summary.waiting.totalMs)}`;

/**
 * What a reader should see in the picture, in figures, in a sentence or two. It is made from the summaries, and no sentence is used where it
 * would not be true: not of other policies, nor with another driver.
 */
export function headline(all: readonly Told[], lead: Lead | undefined): string {
  const base = all.find(({ summary }) => summary.kind === 'per_turn') ?? all[0];
  if (base === undefined) return '';
  if (base.summary.batches === 0) return 'There are no batches in this scenario: open another, or paste one.';
  const names = calledAll(all);
  const told: Others = { base, others: all.filter((one) => one !== base), called: (one) => names.get(one) ?? one.name };
  const order: Lead[] = ['lost', 'unprotected', 'waiting', 'checkpoints'];
  const tried = lead === undefined ? order : [lead, ...order.filter((one) => one !== lead)];
  for (const one of tried) {
    const said = SENTENCES[one](told);
    if (said !== undefined) return said;
  }
  const { summary } = base;
  const lost = losesEverything(summary)
    ? `everything lost at worst, ${inHowMany(summary)}`
    : `${worstText(summary)} of earlier work lost at worst`;
  return `${atHead(told.called(base))}: ${checkpoints(summary.checkpoints)}, ${duration(summary.waiting.totalMs)} waited, ${lost}.`;
}

/** The policy that a headline is about, and those that it is compared with. */
interface Others {
  readonly base: Told;
  readonly others: readonly Told[];
  readonly called: (one: Told) => string;
}

/** The one of which `figure` is largest. */
function most(all: readonly Told[], figure: (one: Told) => number): Told | undefined {
  return all.reduce<Told | undefined>(
    (best, one) => (best === undefined || figure(one) > figure(best) ? one : best),
    undefined,
  );
}

const SENTENCES: Readonly<Record<Lead, (told: Others) => string | undefined>> = {
  lost: (told) => moreLost(told) ?? nothingLeft(told) ?? madeAgain(told),

  checkpoints({ base, others, called }) {
    const other = most(others, ({ summary }) => summary.checkpoints);
    if (other === undefined || other.summary.checkpoints <= base.summary.checkpoints) return undefined;
    const { lost } = base.summary;
    const last = losesEverything(base.summary)
      ? `${atHead(batches(lost.nothing))} had nothing to go back to.`
      : `A rollback costs ${worstText(base.summary)} of earlier work at most.`;
    return `${atHead(called(base))} makes ${checkpoints(base.summary.checkpoints)} and ${waits(base)} in all, where ${called(other)} makes ${number(other.summary.checkpoints)} and ${waits(other)}. ${last}`;
  },

  waiting: (told) => cameToNothing(told) ?? waitsLonger(told),

  unprotected({ base, others, called }) {
    const other = most(others, ({ summary }) => summary.unprotected);
    if (other === undefined || other.summary.unprotected <= base.summary.unprotected) return undefined;
    const own = base.summary.unprotected === 0 ? 'none' : number(base.summary.unprotected);
    return `${atHead(called(other))} leaves ${plural(other.summary.unprotected, 'destructive batch', 'destructive batches')} unprotected here; ${called(base)} leaves ${own}.`;
  },
};

/** Another policy's rollbacks take more, and other turns' work. */
function moreLost({ base, others, called }: Others): string | undefined {
  const worse = others.filter(
    ({ summary }) =>
      !losesEverything(summary) &&
      summary.lost.acrossTurns > base.summary.lost.acrossTurns &&
      worstMs(summary) > worstMs(base.summary) &&
      worstText(summary) !== worstText(base.summary),
  );
  // The mildest of them is the fairest to speak of.
  const other = worse.sort((a, b) => worstMs(a.summary) - worstMs(b.summary))[0];
  if (other === undefined) return undefined;
  const own = base.summary.lost.acrossTurns === 0 ? ', never another turn’s' : '';
  return `${atHead(called(other))} would lose up to ${worstText(other.summary)} of earlier work here, and other turns’ work in ${batches(other.summary.lost.acrossTurns)}; ${called(base)} loses ${worstText(base.summary)} at most${own}.`;
}

/** Another policy has nothing to go back to. */
function nothingLeft({ base, others, called }: Others): string | undefined {
  const other = most(others, ({ summary }) => summary.lost.nothing);
  if (other === undefined || !losesEverything(other.summary) || losesEverything(base.summary)) return undefined;
  return `${atHead(called(other))} leaves ${batches(other.summary.lost.nothing)} with nothing to go back to; ${called(base)} loses ${worstText(base.summary)} of earlier work at most.`;
}

/** A mistaken policy makes checkpoints again and again. */
function madeAgain({ base, others, called }: Others): string | undefined {
  const greedy = most(others, ({ summary }) => summary.checkpoints);
  if (!greedy?.summary.mistake || greedy.summary.checkpoints <= base.summary.checkpoints * 1.2) return undefined;
  const shared = others.find(({ summary }) => summary.kind === 'shared_across_turns');
  // A turn has at most one under the base, so that at least so many of those that have one there have none.
  const without =
    shared === undefined || base.summary.kind !== 'per_turn'
      ? 0
      : base.summary.checkpoints - shared.summary.checkpoints;
  const rest =
    shared === undefined || without <= 0
      ? ''
      : ` ${atHead(called(shared))} leaves at least ${plural(without, 'turn')} without a checkpoint of ${without === 1 ? 'its' : 'their'} own.`;
  return `${atHead(called(base))} makes ${checkpoints(base.summary.checkpoints)} here and ${waits(base)}; ${called(greedy)} makes ${number(greedy.summary.checkpoints)} and ${waits(greedy)}.${rest}`;
}

/** The backend failed. */
function cameToNothing({ base, others, called }: Others): string | undefined {
  const { timeouts, failures, waiting, unprotected, refused } = base.summary;
  if (timeouts + failures === 0) return undefined;
  const then = [
    unprotected > 0 && `${plural(unprotected, 'destructive batch', 'destructive batches')} ran unprotected`,
    refused > 0 && `${batches(refused)} ${refused === 1 ? 'was' : 'were'} refused`,
    unprotected + refused === 0 && 'no destructive batch ran unprotected',
  ].filter(Boolean);
  const blocking = most(others, ({ summary }) => summary.refused);
  const rest =
    refused > 0 || blocking === undefined || blocking.summary.refused === 0
      ? ''
      : ` ${atHead(called(blocking))} would refuse ${batches(blocking.summary.refused)}.`;
  return `${atHead(plural(timeouts + failures, 'attempt'))} came to nothing under ${called(base)}, yet nobody waited longer than ${duration(waiting.maxMs)} for one; ${then.join(' and ')}.${rest}`;
}

/** Another policy waits longer. */
function waitsLonger({ base, others, called }: Others): string | undefined {
  const slow = most(others, ({ summary }) => summary.waiting.totalMs);
  const [own, theirs] = [base.summary.waiting.totalMs, slow?.summary.waiting.totalMs ?? 0];
  if (slow === undefined || theirs <= own * 1.2 || duration(theirs) === duration(own)) return undefined;
  const times = `${duration(own)}; with ${called(slow)}, to ${duration(theirs)}.`;
  const { summary } = base;
  const shared = summary.joined + summary.alreadyCovered;
  // Only where each batch has a checkpoint of its own or that of another do all of them share.
  const all = skippedOf(summary) === 0 && shared + summary.checkpoints === summary.batches && shared > 0;
  if (!all || summary.checkpoints === 0) return `Under ${called(base)} the waits come to ${times}`;
  const need = shared === 1 ? '1 of them needs none of its own' : `${number(shared)} of them need none of their own`;
  return `Under ${called(base)}, ${batches(summary.batches)} share ${checkpoints(summary.checkpoints)}: ${need}. The waits come to ${times}`;
}

/** How many batches were skipped, and why, for the table. */
export const skips = (summary: Summary): { total: number; reasons: [string, number][] } => ({
  total: skippedOf(summary),
  reasons: Object.entries(summary.skipped).sort(([, a], [, b]) => b - a),
});
