import type { Command } from '../../command.js';
import { EXIT } from '../../exit.js';
import { isWhole, leftLines, rollbackEssentials } from '../../lists.js';
import { sandboxOf } from '../../sandboxes.js';
import { count, duration, printable } from '../../text.js';

export const rollback: Command = {
  name: 'sandbox rollback',
  summary: 'throw away what a sandbox changed since it was made or committed',
  args: ['ID'],
  options: {},
  about: [
    'Puts the sandbox back to what it was made of, or to its last commit. What is thrown away is checkpointed first: `turnback undo`',
    'brings it back.',
  ],
  examples: ['turnback sandbox rollback 3f2a9c'],
  async run({ args: [given = ''] }, { store, output, signal, partial }) {
    const sandbox = await sandboxOf(await store(), given);
    const progress = output.progress();
    const { onProgress } = progress;
    const report = await sandbox.rollback({ signal, onProgress }).finally(progress.end);
    const { written, deleted, undoCheckpointId } = report;
    output.answer(
      { id: sandbox.id, ...report },
      () => [
        `${printable(sandbox.path)} is as it was${isWhole(report) ? '' : ', in part'} (${duration(report.durationMs)}).`,
        `  ${count(written, 'path')} written, ${written + deleted === 0 ? 'nothing' : count(deleted, 'path')} deleted`,
        ...leftLines(report),
        ...(undoCheckpointId === undefined ? [] : [`To take this back: ${output.typed('undo', undoCheckpointId)}`]),
      ],
      () => rollbackEssentials(report),
    );
    return isWhole(report) ? EXIT.done : partial;
  },
};
