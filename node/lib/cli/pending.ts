/** What was interrupted, for people: that it waits, and what became of it (C8). */
import type { CheckpointManager } from '../manager.js';
import type { Begun, PendingRestore, RecoveryReport, RollbackReport } from '../types.js';
import { changeLines, changeSummary, isWhole, leftLines } from './lists.js';
import type { Output } from './output.js';
import { count, printable, printableMessage, when } from './text.js';

/** The paths that it was limited to, the first of them by name. */
function scopeText(begun: Begun | undefined): string {
  const paths = begun?.paths;
  if (paths === undefined) return '';
  const named = paths.slice(0, 3).map(({ path }) => printable(path));
  const more = paths.length - named.length;
  return ` of ${named.join(', ')}${more === 0 ? '' : ` and ${count(more, 'other path')}`}`;
}

/** For example `an interrupted rollback of src in /home/me/project (begun 2026-11-30 14:05:09)`. */
export function pendingText({ workspace, begun }: PendingRestore): string {
  const scope = scopeText(begun);
  const where = workspace === undefined ? scope : `${scope} ${scope === '' ? 'of' : 'in'} ${printable(workspace)}`;
  return begun === undefined
    ? `an interrupted rollback${where} whose journal is damaged`
    : `an interrupted ${begun.kind}${where} (begun ${when(begun.startedAt)})`;
}

/** How to go on, and why it cannot be finished when it cannot. */
function pendingAdvice({ workspace, sandboxId, damaged }: PendingRestore, output: Output): string {
  const why = damaged === undefined ? '' : `${printableMessage(output.prose(damaged))}; `;
  const ends = damaged === undefined ? 'finishes it' : 'sets the journal aside and leaves the tree as it is';
  if (workspace !== undefined)
    return `${why}the next checkpoint or rollback there ${ends}, or now: ${output.typed('recover', workspace)}`;
  return `${why}which directory it is of nobody knows, because none of its checkpoints is left: the next checkpoint or \`turnback recover\` in the one whose id is ${printable(sandboxId)} (sandboxId in ${output.typed('checkpoint', '--json')}) ${ends}`;
}

/** Says on stderr what waits; commands that only read do not act on it. */
export async function notePending(manager: CheckpointManager, output: Output): Promise<readonly PendingRestore[]> {
  const waiting = await manager.pending();
  for (const one of waiting) output.note(`${pendingText(one)} waits; ${pendingAdvice(one, output)}`);
  return waiting;
}

const ENDS: Record<RecoveryReport['outcome'], string> = {
  finished: 'was finished',
  root_missing: 'was given up, because the directory is gone; nothing was touched',
  root_replaced: 'was given up, because another directory is in its place; nothing was touched',
  damaged: 'was given up, because its journal is damaged; nothing was touched',
  abandoned: 'was given up; the tree stays as it is',
};

/** What became of an interrupted restore. */
export function recoveryLines(report: RecoveryReport, output: Output, withUndo = true): string[] {
  const { outcome, begun, actions, journalPath, reason } = report;
  const what =
    begun === undefined
      ? 'An interrupted rollback'
      : `The ${begun.kind}${scopeText(begun)} that was begun ${when(begun.startedAt)}`;
  const lines = [`${what} in ${printable(report.workspace)} ${ENDS[outcome]}.`];
  if (outcome === 'finished') {
    lines.push(`  ${count(report.written, 'path')} written, ${count(report.deleted, 'path')} deleted now`);
  }
  if (outcome === 'abandoned' && actions.length > 0) {
    lines.push('What it had not taken back yet:', ...changeLines(actions), changeSummary(actions));
  }
  if (reason !== undefined) lines.push(`  ${printableMessage(output.prose(reason))}`);
  if (journalPath !== undefined) lines.push(`  the damaged journal is kept: ${printable(journalPath)}`);
  lines.push(...leftLines(report));
  const undo = begun?.undoCheckpointId;
  if (withUndo && undo !== undefined) lines.push(`To go back to before it was begun: ${output.typed('undo', undo)}`);
  return lines;
}

/** What an interrupted restore left that another command finished first, path by path; that it was in the way is told by a warning. */
export function recoveredLines(recovered: RecoveryReport | undefined, output: Output): string[] {
  if (recovered === undefined || isRecovered(recovered)) return [];
  const { undoCheckpointId } = recovered.begun ?? {};
  return [
    'Before that an interrupted restore was ended:',
    ...recoveryLines(recovered, output, false).map((line) => `  ${line}`),
    ...(undoCheckpointId === undefined ? [] : [`  its own undo: ${output.typed('undo', undoCheckpointId)}`]),
  ];
}

/** Whether no interrupted restore was in the way of another one, or none that left something. */
export function recoveredWhole({ recovered }: RollbackReport): boolean {
  return recovered === undefined || isRecovered(recovered);
}

/** Whether nothing is left of it, save what it was to leave alone. */
export function isRecovered(report: RecoveryReport): boolean {
  return (report.outcome === 'finished' || report.outcome === 'abandoned') && isWhole(report);
}
