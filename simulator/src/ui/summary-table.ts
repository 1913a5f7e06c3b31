import type { Summary } from 'turnback-policy/simulate';
import { reasonText } from '../model/describe.js';
import { duration, number } from '../model/format.js';
import { skips } from '../model/headline.js';
import { letter } from '../model/policy-words.js';
import { inHowMany, losesEverything, orEverything, worstMs, worstText } from '../model/worst.js';
import { el, hidden } from './dom.js';

/** One figure of a summary. */
interface Row {
  readonly label: string;
  readonly says: string;
  /** Infinity: everything. */
  readonly of: (summary: Summary) => number;
  readonly text?: (summary: Summary) => string;
  /** Whether less of it is plainly better. */
  readonly less?: boolean;
  /** Whether much of it is a danger, not only a cost. */
  readonly risk?: boolean;
  /** A row that says nothing where every policy has 0. */
  readonly quiet?: boolean;
}

const ms = (of: Row['of']): Pick<Row, 'of' | 'text'> => ({ of, text: (summary) => duration(of(summary)) });

const GROUPS: readonly (readonly [string, readonly Row[]])[] = [
  [
    'What a rollback costs',
    [
      {
        label: 'Earlier work lost at worst',
        says: 'Running time of earlier batches that one rollback throws away, besides the batch itself.',
        less: true,
        risk: true,
        of: worstMs,
        text: (s) => [worstText(s), inHowMany(s)].filter((part) => part !== '').join(', '),
      },
      {
        label: 'Earlier work lost on average',
        says: 'Over all destructive batches, if each were rolled back.',
        less: true,
        risk: true,
        of: (s) => (losesEverything(s) ? Number.POSITIVE_INFINITY : s.lost.meanMs),
        text: (s) => orEverything(s, s.lost.meanMs, duration(s.lost.meanMs)),
      },
      {
        label: 'Takes another turn along',
        says: 'Destructive batches whose rollback also undoes work of other turns.',
        less: true,
        risk: true,
        of: (s) => (losesEverything(s) ? Number.POSITIVE_INFINITY : s.lost.acrossTurns),
        text: (s) => orEverything(s, s.lost.acrossTurns, number(s.lost.acrossTurns)),
      },
      {
        label: 'Nothing to go back to',
        says: 'Destructive batches that ran before there was any checkpoint.',
        less: true,
        risk: true,
        of: (s) => s.lost.nothing,
      },
      {
        label: 'Ran unprotected',
        says: 'Destructive batches that ran though no checkpoint was made for them.',
        less: true,
        risk: true,
        of: (s) => s.unprotected,
      },
    ],
  ],
  [
    'What it costs to be safe',
    [
      {
        label: 'Waiting in all',
        says: 'Time by which checkpoints held batches up.',
        less: true,
        ...ms((s) => s.waiting.totalMs),
      },
      {
        label: 'Waiting, median',
        says: 'Half of all batches waited no longer.',
        less: true,
        ...ms((s) => s.waiting.medianMs),
      },
      {
        label: 'Waiting, 99th percentile',
        says: 'All but one in a hundred waited no longer.',
        less: true,
        ...ms((s) => s.waiting.p99Ms),
      },
      {
        label: 'Refused',
        says: 'Batches that were not allowed to run.',
        less: true,
        risk: true,
        quiet: true,
        of: (s) => s.refused,
      },
      { label: 'Checkpoints made', says: 'Attempts that succeeded.', of: (s) => s.checkpoints },
      {
        label: 'Failed or given up',
        says: 'Attempts that made nothing.',
        quiet: true,
        of: (s) => s.failures + s.timeouts,
      },
      { label: 'Kept at the end', says: 'What the retention leaves of them.', of: (s) => s.kept },
    ],
  ],
  [
    'How batches got along without one of their own',
    [
      {
        label: 'Shared an attempt',
        says: 'They waited for the one that another batch had begun.',
        of: (s) => s.joined,
      },
      { label: 'Covered already', says: 'Their turn had its checkpoint.', of: (s) => s.alreadyCovered },
      {
        label: 'Skipped',
        says: 'They ran without, by rule.',
        of: (s) => skips(s).total,
        text: (s) => {
          const { total, reasons } = skips(s);
          return total === 0
            ? '0'
            : `${number(total)} (${reasons.map(([reason, count]) => (reasons.length > 1 ? `${number(count)}: ${reasonText(reason)}` : reasonText(reason))).join('; ')})`;
        },
      },
    ],
  ],
];

/** The policies side by side, a figure a row. Where they differ there is a bar; the best is marked where less is plainly better. */
export function summaryTable(summaries: readonly Summary[], names: readonly string[]): HTMLElement {
  const head = el(
    'tr',
    {},
    el('th', { scope: 'col' }, hidden('Figure')),
    ...summaries.map((_, place) =>
      el(
        'th',
        { scope: 'col' },
        el(
          'span',
          { class: 'column-head' },
          el('span', { class: 'badge' }, letter(place)),
          ' ',
          el('span', { class: 'column-name' }, names[place] ?? ''),
        ),
      ),
    ),
  );
  const bodies = GROUPS.map(([title, rows]) =>
    el(
      'tbody',
      {},
      el(
        'tr',
        { class: 'group' },
        el('th', { scope: 'rowgroup', colspan: summaries.length + 1 }, el('span', { class: 'group-name' }, title)),
      ),
      ...rows.flatMap((row) =>
        row.quiet === true && summaries.every((one) => row.of(one) === 0) ? [] : [line(row, summaries)],
      ),
    ),
  );
  const table = el(
    'table',
    { class: 'summary' },
    el('caption', { class: 'visually-hidden' }, 'What each policy comes to'),
    el('thead', {}, head),
    ...bodies,
  );
  table.style.setProperty('--policies', String(summaries.length));
  return table;
}

/** How much of its cell a figure's bar fills, 0 to 1. Beside one that is everything, all that can be measured stays below half. */
export function shareOf(value: number, values: readonly number[]): number {
  if (value === Number.POSITIVE_INFINITY) return 1;
  const most = Math.max(0, ...values.filter(Number.isFinite));
  return most === 0 ? 0 : (value / most) * (values.every(Number.isFinite) ? 1 : 0.5);
}

function line(row: Row, summaries: readonly Summary[]): HTMLElement {
  const values = summaries.map(row.of);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const differs = values.length > 1 && most > least;
  const cells = summaries.map((summary, place) => {
    const value = values[place] ?? 0;
    const best = differs && row.less === true && value === least;
    const worst = differs && row.risk === true && value === most;
    const bar = el('span', { class: 'bar', 'aria-hidden': true });
    bar.style.setProperty('--share', String(shareOf(value, values)));
    return el(
      'td',
      { class: [best && 'best', worst && 'worst'].filter(Boolean).join(' ') || undefined },
      el('span', { class: 'value' }, row.text?.(summary) ?? number(value)),
      // The space is for who hears it: without one it is "7.8 sbest".
      best && ' ',
      best && el('span', { class: 'mark' }, 'best'),
      differs && bar,
    );
  });
  return el(
    'tr',
    { class: differs ? 'differs' : 'same' },
    el('th', { scope: 'row' }, row.label, el('span', { class: 'says' }, row.says)),
    ...cells,
  );
}
