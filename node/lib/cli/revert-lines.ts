/** A revert as a person wants to know it. */
import type { Conflict, RollbackReport } from '../types.js';
import { changeLines, changeSummary, isWhole, keptLines, notUndoable, scopeOf, undoLines } from './lists.js';
import { count, duration, printable, printablePath, type Typed } from './text.js';

interface Asked {
  to: string;
  dryRun: boolean;
  onConflict: 'fail' | 'ours' | 'theirs';
  place: string;
  /** The other options that the revert was given, as they are typed: what is to be typed next has them too. */
  also: string[];
  safety: boolean;
  typed: Typed;
}

const THESE = 'changed again since';

export function revertLines(report: RollbackReport, asked: Asked): string[] {
  const { to, dryRun, onConflict, safety, typed } = asked;
  const { checkpointId: from, conflicts, actions } = report;
  if (onConflict === 'fail' && conflicts.length > 0) return refused(report, asked);
  const place = scopeOf(report, asked.place).what;
  const lines: string[] = [];
  if (actions.length === 0) {
    const left = conflicts.length + report.kept.length + report.notRestorable.length;
    lines.push(
      left === 0
        ? `Nothing to do: in ${place} nothing is left of what changed from ${from} to ${to}.`
        : `Nothing ${dryRun ? 'would be' : 'was'} taken back in ${place}: of what changed from ${from} to ${to} there is only what is listed here.`,
    );
  } else if (dryRun) {
    lines.push(
      `A revert would take back in ${place} (nothing was changed yet):`,
      ...changeLines(actions),
      changeSummary(actions),
      ...notUndoable(report, safety),
    );
  } else {
    lines.push(
      `Taken back in ${place}${isWhole(report) ? '' : ', in part'}: what changed from ${from} to ${to} (${duration(report.durationMs)}).`,
      `  ${count(report.written, 'path')} written, ${count(report.deleted, 'path')} deleted; later edits to other paths are kept`,
    );
  }
  if (conflicts.length > 0) {
    const fate = `${dryRun ? 'would be ' : ''}${onConflict === 'ours' ? 'kept' : 'taken back too'}`;
    lines.push(`Changed again since and ${fate}, ${count(conflicts.length, 'path')}:`, ...conflictLines(conflicts));
  }
  lines.push(...keptLines(report));
  if (!dryRun) lines.push(...undoLines(report, safety, typed));
  return lines;
}

function refused(report: RollbackReport, { to, dryRun, also, typed, place }: Asked): string[] {
  const { checkpointId: from, conflicts, paths } = report;
  const again = (how: string) => typed('revert', from, to, '--on-conflict', how, ...also);
  const where = paths === undefined ? '' : ` of ${scopeOf(report, place).what}`;
  const one = conflicts.length === 1;
  return [
    dryRun
      ? `A revert${where} would change nothing: ${count(conflicts.length, 'path was', 'paths were')} ${THESE}, and those edits would be lost.`
      : `Nothing was changed${where === '' ? '' : `, of a revert${where}`}: ${count(conflicts.length, 'path was', 'paths were')} ${THESE}, and taking ${one ? 'it' : 'them'} back would lose those edits.`,
    ...conflictLines(conflicts),
    ...keptLines(report),
    'To take back all the rest:',
    `  ${again('ours')}    keeps ${one ? 'this path' : 'these paths'} as ${one ? 'it is' : 'they are'} now`,
    `  ${again('theirs')}  takes ${one ? 'it' : 'them'} back too; undo brings the edits back`,
  ];
}

/** Three lines a path: what it is called, what is there, and what was there before. */
function conflictLines(conflicts: readonly Conflict[]): string[] {
  return conflicts.flatMap((one) => [
    `  ${printablePath(one)}`,
    `    now     ${printable(one.ours)}`,
    `    before  ${printable(one.theirs)}`,
  ]);
}
