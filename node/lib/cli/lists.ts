/** Lists that several commands print. */
import type { Change, Coverage, RollbackReport, Uncovered } from '../types.js';
import { count, duration, printable, printablePath, type Typed } from './text.js';

const LETTERS: Record<Change['kind'], string> = {
  added: 'A',
  deleted: 'D',
  modified: 'M',
  type_changed: 'T',
  metadata: 'm',
};

const KINDS: Record<Change['kind'], string> = {
  added: 'added',
  deleted: 'deleted',
  modified: 'modified',
  type_changed: 'of another type',
  metadata: 'with other metadata',
};

/** One line a path: a letter and the path. */
export function changeLines(changes: readonly Change[]): string[] {
  return changes.map((change) => `${LETTERS[change.kind]} ${printablePath(change)}`);
}

/** How many of each kind. */
export function changeCounts(changes: readonly Change[]): Record<Change['kind'], number> {
  const counts: Record<Change['kind'], number> = { added: 0, deleted: 0, modified: 0, type_changed: 0, metadata: 0 };
  for (const { kind } of changes) counts[kind] += 1;
  return counts;
}

/** For example `2 added (A), 1 deleted (D)`. */
export function changeSummary(changes: readonly Change[]): string {
  const counts = changeCounts(changes);
  const parts = Object.entries(LETTERS).flatMap(([name, letter]) => {
    const kind = name as Change['kind'];
    return counts[kind] === 0 ? [] : [`${counts[kind].toLocaleString('en-US')} ${KINDS[kind]} (${letter})`];
  });
  return parts.join(', ');
}

/** One indented line a path, with its reason. */
export function uncoveredLines(paths: readonly Uncovered[]): string[] {
  return paths.map((one) => {
    const more = one.detail === undefined ? '' : `: ${printable(one.detail)}`;
    return `  ${printablePath(one)}  (${one.reason}${more})`;
  });
}

/** What a checkpoint does not cover, if there is something. */
export function coverageLines({ uncovered, uncoveredCount }: Coverage): string[] {
  if (uncoveredCount === 0) return [];
  // Their bytes are kept: only the names outside are not part of the picture.
  const outside = uncovered.filter(({ reason }) => reason === 'link_outside');
  const missing = uncovered.filter(({ reason }) => reason !== 'link_outside');
  const rest = uncoveredCount - uncovered.length;
  return [
    ...(missing.length > 0 ? [`Not covered, ${count(missing.length, 'path')}:`, ...uncoveredLines(missing)] : []),
    ...(outside.length > 0
      ? [
          `Hard links that reach outside, ${count(outside.length, 'path')} (restored with an inode of their own):`,
          ...uncoveredLines(outside),
        ]
      : []),
    ...(rest > 0 ? [`  … and ${rest.toLocaleString('en-US')} more of ${count(uncoveredCount, 'path')} in all`] : []),
  ];
}

/** Left alone because the rollback was asked to, not because it could not do otherwise. */
const ON_PURPOSE = ['git_metadata', 'uncovered_then', 'excluded'];

/** Whether a rollback did all that was asked for. */
export function isWhole({ kept, notRestorable }: Pick<RollbackReport, 'kept' | 'notRestorable'>): boolean {
  return notRestorable.length === 0 && kept.every(({ reason }) => ON_PURPOSE.includes(reason));
}

/** Paths as a shell completes them: without `./` in front and a slash at the end. */
export function relativePaths(given: string[]): string[] {
  return given.map((path) => path.replace(/^(?:\.\/+)+/, '').replace(/(?<=.)\/+$/, ''));
}

/** What was left alone or could not be brought back, and a HEAD that has moved. */
export function keptLines(report: RollbackReport): string[] {
  return [
    ...(report.headMoved ? ['  a git HEAD has moved since; it was left where it is (--git exact restores it)'] : []),
    ...leftLines(report),
  ];
}

/** What was left alone or could not be brought back, each path once. */
export function leftLines(report: Pick<RollbackReport, 'kept' | 'notRestorable'>): string[] {
  const { notRestorable } = report;
  const told = new Set(notRestorable.map(({ path, reason }) => `${reason} ${path}`));
  const kept = report.kept.filter(({ path, reason }) => !told.has(`${reason} ${path}`));
  return [
    ...(kept.length > 0 ? [`Kept as it is, ${count(kept.length, 'path')}:`, ...uncoveredLines(kept)] : []),
    ...(notRestorable.length > 0
      ? [`Not restorable, ${count(notRestorable.length, 'path')}:`, ...uncoveredLines(notRestorable)]
      : []),
  ];
}

/** So many paths of a scope are named. */
const NAMED = 5;

/** What a restore was about: a directory, or paths in it. */
export function scopeOf({ paths }: Pick<RollbackReport, 'paths'>, place: string): { what: string; are: 'is' | 'are' } {
  if (paths === undefined) return { what: place, are: 'is' };
  const named = paths.slice(0, NAMED).map(printablePath);
  const rest = paths.length - named.length;
  if (rest > 0) named.push(`${rest.toLocaleString('en-US')} more`);
  return { what: `${named.join(', ')} in ${place}`, are: paths.length === 1 ? 'is' : 'are' };
}

/** How a rollback or a revert that was carried out is taken back, or that it cannot be. */
export function undoLines(report: RollbackReport, safety: boolean, typed: Typed): string[] {
  const { undoCheckpointId, written, deleted } = report;
  if (undoCheckpointId !== undefined) return [`To take this back: ${typed('undo', undoCheckpointId)}`];
  if (safety || written + deleted === 0) return [];
  return ['This cannot be undone: no checkpoint was taken of the state before (--no-safety).'];
}

/** That a plan could not be taken back, if so. */
export function notUndoable({ actions }: RollbackReport, safety: boolean): string[] {
  if (safety || actions.length === 0) return [];
  return ['It could not be undone: no checkpoint would be taken first (--no-safety).'];
}

/** A rollback as a person wants to know it. */
export function rollbackLines(
  report: RollbackReport,
  {
    dryRun = false,
    safety = true,
    place: directory,
    typed,
  }: { dryRun?: boolean; safety?: boolean; place: string; typed: Typed },
): string[] {
  const { written, deleted } = report;
  const { what: place, are } = scopeOf(report, directory);
  const lines: string[] = [];
  if (dryRun) {
    const { actions } = report;
    if (actions.length === 0) lines.push(...nothingListed(report, directory));
    else
      lines.push(
        `A rollback of ${place} would take back (nothing was changed yet):`,
        ...changeLines(actions),
        changeSummary(actions),
        ...notUndoable(report, safety),
      );
  } else {
    lines.push(
      `${place} ${are} as ${are === 'is' ? 'it was' : 'they were'} at ${report.checkpointId}${isWhole(report) ? '' : ', in part'} (${duration(report.durationMs)}).`,
    );
    lines.push(
      `  ${count(written, 'path')} written, ${written + deleted === 0 ? 'nothing' : count(deleted, 'path')} deleted`,
    );
    if (report.rootRecreated) lines.push('  the directory itself was gone and was made anew');
  }
  lines.push(...keptLines(report));
  if (!dryRun) lines.push(...undoLines(report, safety, typed));
  return lines;
}

/** A plan without a path to list: it may have directories whose time alone goes back. */
function nothingListed(report: RollbackReport, directory: string): string[] {
  const { restamped, kept, notRestorable } = report;
  const { what: place, are } = scopeOf(report, directory);
  if (restamped === 0 && kept.length + notRestorable.length > 0)
    return [
      `Nothing to do: ${place} ${are === 'is' ? 'equals' : 'equal'} the checkpoint, but for what is listed here.`,
    ];
  if (restamped === 0) return [`Nothing to do: ${place} ${are === 'is' ? 'equals' : 'equal'} the checkpoint.`];
  const many = count(restamped, 'directory', 'directories');
  return [`A rollback of ${place} would only give ${many} back the modification time (nothing was changed yet).`];
}

/** What a script needs to know of a rollback: how to take it back. */
export function rollbackEssentials({ undoCheckpointId }: RollbackReport): string[] {
  return undoCheckpointId === undefined ? [] : [undoCheckpointId];
}
