/** A commit of a sandbox as a person wants to know it, and its options. */
import { oneOf } from '../check.js';
import type { CommitOptions, CommitReport } from '../sandbox/index.js';
import type { Conflict, Uncovered } from '../types.js';
import type { Given, Option } from './command.js';
import { changeLines, changeSummary } from './lists.js';
import { count, printable, printablePath, typed } from './text.js';

const onConflictOf = oneOf('fail', 'ours', 'theirs');
const mergeOf = oneOf('merge', 'branch');

/** The options of a commit. */
export const COMMITTING: Record<string, Option> = {
  'on-conflict': {
    value: 'fail|ours|theirs',
    help: "where DIR was changed as well: commit nothing (default), take the sandbox's, or keep DIR's",
  },
  'text-merge': { help: 'merge texts whose changed lines do not meet (git_worktree always does)' },
  merge: {
    value: 'merge|branch',
    help: "of git_worktree: into the branch that is checked out (default), or only to the sandbox's own branch",
  },
  message: { value: 'TEXT', help: 'of git_worktree: the message of the commit' },
  'allow-git': { help: 'of copy_on_write: commit what lies in .git too' },
  'allow-trusted': { help: 'commit files that programs run by themselves later: .envrc, .vscode, .husky, …' },
};

/** What these options say. */
export function committing({ value, has }: Given): CommitOptions {
  const merge = value('merge');
  const message = value('message');
  return {
    onConflict: onConflictOf('--on-conflict', value('on-conflict') ?? 'fail'),
    ...(merge === undefined ? {} : { merge: mergeOf('--merge', merge) }),
    ...(message === undefined ? {} : { message }),
    ...(has('text-merge') ? { textMerge: true } : {}),
    ...(has('allow-git') ? { allowGit: true } : {}),
    ...(has('allow-trusted') ? { allowTrusted: true } : {}),
  };
}

/** What a commit is told with. */
export interface Told {
  /** The resource, printable. */
  place: string;
  /** The command that commits, without options. */
  again: string;
  onConflict: 'fail' | 'ours' | 'theirs';
  /** The same, as it is. */
  directory: string;
  /** Only to the sandbox's own branch. */
  branchOnly: boolean;
  /** Git merges texts by itself. */
  mergesTexts: boolean;
  /** What lies in a `.git` can be committed on request. */
  takesGit: boolean;
  /** Each path that was committed. */
  paths: boolean;
}

/** What became of it; what can be done about what was not committed. */
export function commitLines(report: CommitReport, told: Told): string[] {
  if (!report.committed) return [...refused(report.conflicts, told), ...heldBackLines(report.heldBack, told)];
  const { changes, conflicts, heldBack, branch, commit } = report;
  const lines: string[] = [];
  if (changes.length === 0) lines.push(`Nothing to commit to ${told.place}.`);
  else {
    const by =
      branch === undefined ? '' : `${printable(branch)}${commit === undefined ? '' : ` (${commit.slice(0, 10)})`}`;
    const where = told.branchOnly
      ? `branch ${by} of ${told.place}`
      : `${told.place}${by === '' ? '' : `, by branch ${by}`}`;
    lines.push(`Committed to ${where}: ${changeSummary(changes)}`);
    if (told.paths) lines.push(...changeLines(changes));
  }
  if (conflicts.length > 0) {
    const fate = told.onConflict === 'ours' ? "the sandbox's state was taken" : 'the state there was kept';
    lines.push(`Changed there as well, ${count(conflicts.length, 'path')}; ${fate}:`, ...conflictLines(conflicts));
  }
  lines.push(...heldBackLines(heldBack, told));
  if (told.branchOnly && branch !== undefined) {
    lines.push(`To merge it: git -C${typed([told.directory])} merge${typed([branch])}`);
  }
  return lines;
}

/** Whether both sides have a file: nothing else can be a text. */
function mayMeet({ ours, theirs }: Conflict): boolean {
  return [ours, theirs].every((side) => side.startsWith('a file of '));
}

function refused(conflicts: readonly Conflict[], { place, again, mergesTexts }: Told): string[] {
  return [
    `Nothing was committed: ${count(conflicts.length, 'path was', 'paths were')} changed in ${place} as well.`,
    ...conflictLines(conflicts),
    'To commit all the same:',
    ...(mergesTexts || !conflicts.some(mayMeet)
      ? []
      : [`  ${again} --text-merge          merges texts whose changed lines do not meet`]),
    `  ${again} --on-conflict ours    takes the sandbox's state of ${conflicts.length === 1 ? 'this path' : 'these paths'}`,
    `  ${again} --on-conflict theirs  keeps the state there`,
  ];
}

/** Three lines a path: what it is called, and what each side has. */
function conflictLines(conflicts: readonly Conflict[]): string[] {
  return conflicts.flatMap((one) => [
    `  ${printablePath(one)}`,
    `    sandbox  ${printable(one.ours)}`,
    `    there    ${printable(one.theirs)}`,
  ]);
}

/** How the paths that were held back for a reason can be committed all the same. */
const WAYS: Record<string, string> = {
  trusted: '--allow-trusted  commits what programs run by themselves',
  git_metadata: '--allow-git      commits what lies in .git',
};

/** Why something is held back, in words. */
const REASONS: Record<string, string> = {
  trusted: 'programs run it, or what it says, by themselves',
  git_metadata: 'it lies in a .git',
  git_changed: 'it lies in a .git that was changed there as well',
  ignored: 'git ignores it',
  seeded: 'it was seeded',
  submodule: 'it lies in a submodule',
  special: 'nothing can be committed of its kind',
  not_read: 'it could not be read in the sandbox',
  changing: 'something wrote to it while it was read',
  set_id: 'committed without set-id bits and capabilities',
  not_captured: 'what is there could not be kept first',
  not_empty: 'deleted here, and something else is in it there',
  not_written: 'it was changed there meanwhile, or could not be written',
};

function heldBackLines(heldBack: readonly Uncovered[], { again, takesGit }: Told): string[] {
  if (heldBack.length === 0) return [];
  const ways = Object.entries(WAYS).filter(
    ([reason]) => (takesGit || reason !== 'git_metadata') && heldBack.some((one) => one.reason === reason),
  );
  return [
    `Held back, ${count(heldBack.length, 'path')}, in the sandbox only:`,
    ...heldBack.map((one) => `  ${printablePath(one)}  (${REASONS[one.reason] ?? one.reason})`),
    ...(ways.length === 0 ? [] : ['To commit them too:', ...ways.map(([, way]) => `  ${again} ${way}`)]),
  ];
}
