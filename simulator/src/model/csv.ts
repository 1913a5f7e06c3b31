import { ATTEMPT_OUTCOMES, type Batches, OUTCOMES, type Run } from './columns.js';

const HEAD = [
  'policy',
  'policy_name',
  'batch',
  'sandbox',
  'turn',
  'tool',
  'kind',
  'asked_ms',
  'started_ms',
  'ended_ms',
  'waited_ms',
  'outcome',
  'reason',
  'protected',
  'late',
  'attempt',
  'attempt_outcome',
  'returns_to',
  'lost_ms',
  'lost_batches',
  'lost_turns',
] as const;

/**
 * One row a batch under each policy (RFC 4180), after a byte-order mark, without which spreadsheets read what is not ASCII wrongly. A text
 * from the scenario that a spreadsheet would take for a formula gets an apostrophe before it. What does not apply is empty: a batch that was refused has no beginning, one without a checkpoint nothing to return to.
 */
export function csv(batches: Batches, runs: readonly Run[]): string {
  const lines = [HEAD.join(',')];
  for (const [policy, run] of runs.entries()) {
    for (let batch = 0; batch < batches.count; batch++)
      lines.push(row(policy, batch, batches, run).map(cell).join(','));
  }
  return `\ufeff${lines.join('\r\n')}\r\n`;
}

type Value = string | number | boolean | undefined;

function row(policy: number, batch: number, batches: Batches, run: Run): Value[] {
  const attempt = run.attempt[batch] ?? -1;
  const returnsTo = run.returnsTo[batch] ?? -1;
  const [start, end] = [run.start[batch] ?? Number.NaN, run.end[batch] ?? Number.NaN];
  return [
    policy,
    foreign(run.summary.name),
    batch,
    foreign(batches.sandboxes[batches.sandbox[batch] ?? 0]),
    foreign(batches.turns[batches.turn[batch] ?? -1]),
    foreign(batches.tools[batches.tool[batch] ?? -1]),
    batches.destructive[batch] === 1 ? 'destructive' : 'read_only',
    run.at[batch],
    Number.isNaN(start) ? undefined : start,
    Number.isNaN(end) ? undefined : end,
    waited(run, batch),
    OUTCOMES[run.outcome[batch] ?? 0],
    run.reasons[run.reason[batch] ?? 255],
    run.protected[batch] === 1,
    run.late[batch] === 1,
    attempt < 0 ? undefined : run.attempts.number[attempt],
    attempt < 0 ? undefined : ATTEMPT_OUTCOMES[run.attempts.outcome[attempt] ?? 0],
    returnsTo < 0 ? undefined : run.attempts.number[returnsTo],
    run.lostMs[batch],
    run.lostBatches[batch],
    run.lostTurns[batch],
  ];
}

/** How long a batch waited before it ran or was refused, in milliseconds. */
export function waited(run: Run, batch: number): number {
  const at = run.at[batch] ?? 0;
  const start = run.start[batch] ?? Number.NaN;
  if (!Number.isNaN(start)) return start - at;
  const attempt = run.attempt[batch] ?? -1;
  return attempt < 0 ? 0 : Math.max(0, (run.attempts.end[attempt] ?? at) - at);
}

/** What begins a formula, in full width too; some spreadsheets leave out what is blank before it. */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@\uff1d\uff0b\uff0d\uff20])/;
const foreign = (text: string | undefined) => (text !== undefined && FORMULA.test(text) ? `'${text}` : text);

function cell(value: Value): string {
  if (value === undefined) return '';
  const text = String(value);
  // Where the comma is part of numbers, a semicolon keeps cells apart; in a text that is pasted, a tab.
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
