/** A revert as a person wants to know it. */
import type { Conflict, RollbackReport } from '../types.js';
import { changeLines, changeSummary, isWhole, keptLines } from './lists.js';
import { count, duration, printable, printablePath } from './text.js';

interface Asked {
  to: string;
  dryRun: boolean;
  onConflict: 'fail' | 'ours' | 'theirs';
  place: string;
  /** The other options that the revert was given, as they are typed: what is to be typed next has them too. */
  also: string;
}

const THESE = 'changed again since';

export function revertLines(report: RollbackReport, { to, dryRun, onConflict, place, also }: Asked): string[] {
  const { checkpointId: from, conflicts, actions, undoCheckpointId } = report;
  if (onConflict === 'fail' && conflicts.length > 0) return refused(report, to, dryRun, also);
  const lines: string[] = [];
  if (actions.length === 0)
    lines.push(`Nothing to do: in ${place} nothing is left of what changed from ${from} to ${to}.`);
  else if (dryRun) {
    lines.push(
      `A revert would take back in ${place} (nothing was changed yet):`,
      ...changeLines(actions),
      changeSummary(actions),
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
  if (!dryRun && undoCheckpointId !== undefined) lines.push(`To take this back: turnback undo ${undoCheckpointId}`);
  return lines;
}

function refused(report: RollbackReport, to: string, dryRun: boolean, also: string): string[] {
  const { checkpointId: from, conflicts } = report;
  const again = `turnback revert ${from} ${to} --on-conflict`;
  const one = conflicts.length === 1;
  return [
    dryRun
      ? `A revert would change nothing: ${count(conflicts.length, 'path was', 'paths were')} ${THESE}, and those edits would be lost.`
      : `Nothing was changed: ${count(conflicts.length, 'path was', 'paths were')} ${THESE}, and taking ${one ? 'it' : 'them'} back would lose those edits.`,
    ...conflictLines(conflicts),
    ...keptLines(report),
    'To take back all the rest:',
    `  ${again} ours${also}    keeps ${one ? 'this path' : 'these paths'} as ${one ? 'it is' : 'they are'} now`,
    `  ${again} theirs${also}  takes ${one ? 'it' : 'them'} back too; undo brings the edits back`,
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
