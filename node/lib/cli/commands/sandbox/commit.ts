import type { Command } from '../../command.js';
import { COMMITTING, commitLines, committing } from '../../commit-lines.js';
import { EXIT } from '../../exit.js';
import { next, sandboxOf } from '../../sandboxes.js';
import { printable } from '../../text.js';

export const commit: Command = {
  name: 'sandbox commit',
  summary: 'bring what a sandbox changed into its directory',
  args: ['ID'],
  options: COMMITTING,
  about: [
    'Writes the paths that the sandbox changed into the directory that it was made of, all of them or none. The sandbox stays; what is',
    'changed in it from now on can be committed again.',
    'Exits with 4 when paths were changed there as well and nothing was committed; with 3 when something was held back. Both are listed.',
  ],
  examples: ['turnback sandbox commit 3f2a9c', 'turnback sandbox commit 3f2a9c --text-merge'],
  async run(given, { store, output, signal, partial }) {
    const options = committing(given);
    const sandbox = await sandboxOf(await store(), given.args[0] ?? '');
    const progress = output.progress();
    const { onProgress } = progress;
    const report = await sandbox.commit({ ...options, signal, onProgress }).finally(progress.end);
    const { id, resource, strategy } = sandbox;
    output.answer(
      { id, ...report },
      () => [
        ...commitLines(report, {
          place: printable(resource),
          directory: resource,
          branchOnly: options.merge === 'branch',
          again: next(given, `commit ${id}`),
          onConflict: options.onConflict ?? 'fail',
          mergesTexts: strategy === 'git_worktree' || options.textMerge === true,
          takesGit: strategy !== 'git_worktree',
          paths: true,
        }),
        ...(report.committed && report.changes.length > 0
          ? [
              `To take this back:     ${next(given, `undo-commit ${id}`)}`,
              `To remove the sandbox: ${next(given, `cleanup ${id}`)}`,
            ]
          : []),
      ],
      () => [],
    );
    if (!report.committed) return EXIT.conflicts;
    return report.heldBack.length === 0 ? EXIT.done : partial;
  },
};
