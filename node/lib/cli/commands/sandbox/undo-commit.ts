import type { Command } from '../../command.js';
import { EXIT } from '../../exit.js';
import { changeLines, changeSummary, isWhole, leftLines } from '../../lists.js';
import { next, sandboxOf } from '../../sandboxes.js';
import { count, printable, printablePath } from '../../text.js';

export const undoCommit: Command = {
  name: 'sandbox undo-commit',
  summary: 'take the last commit of a sandbox back',
  args: ['ID'],
  options: {},
  about: [
    'Makes the committed paths in the directory what they were before. Later edits elsewhere stay; where a committed path was changed',
    'again since, nothing is done, it is listed, and the exit code is 4. The sandbox keeps its work, which can be committed again.',
  ],
  examples: ['turnback sandbox undo-commit 3f2a9c'],
  async run(given, { store, output, signal, partial }) {
    const sandbox = await sandboxOf(await store(), given.args[0] ?? '');
    const progress = output.progress();
    const { onProgress } = progress;
    const report = await sandbox.undoCommit({ signal, onProgress }).finally(progress.end);
    const { id, resource } = sandbox;
    const refused = report.conflicts.length > 0;
    output.answer(
      { id, ...report },
      () =>
        refused
          ? [
              `Nothing was taken back: ${count(report.conflicts.length, 'path was', 'paths were')} changed in ${printable(resource)} since the commit.`,
              ...report.conflicts.flatMap((one) => [
                `  ${printablePath(one)}`,
                `    now     ${printable(one.ours)}`,
                `    before  ${printable(one.theirs)}`,
              ]),
            ]
          : [
              `Taken back in ${printable(resource)}: ${changeSummary(report.actions) || 'nothing'}`,
              ...changeLines(report.actions),
              ...leftLines(report),
              `The sandbox keeps the work. To commit it again: ${next(given, `commit ${id}`)}`,
            ],
      () => [],
    );
    if (refused) return EXIT.conflicts;
    return isWhole(report) ? EXIT.done : partial;
  },
};
