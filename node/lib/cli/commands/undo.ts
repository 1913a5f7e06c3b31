import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { resolveListed } from '../ids.js';
import { isWhole, rollbackEssentials, rollbackLines } from '../lists.js';
import { printable } from '../text.js';

export const undo: Command = {
  name: 'undo',
  summary: 'take a rollback back',
  args: ['ID'],
  options: {},
  about: [
    'ID is the one that `turnback rollback` printed: of the checkpoint that it took first. An undo can be undone too.',
  ],
  examples: ['turnback undo 01KB8Y2V3M4N5P6Q7R8S9T0VWX'],
  async run({ args: [given = ''] }, { store, output, signal, partial }) {
    const manager = await store();
    const target = await resolveListed(manager, given);
    const progress = output.progress();
    const report = await manager
      .undo(target.checkpointId, { signal, onProgress: progress.onProgress })
      .finally(progress.end);
    output.answer(
      report,
      () => rollbackLines(report, { place: printable(target.workspace) }),
      () => rollbackEssentials(report),
    );
    return isWhole(report) ? EXIT.done : partial;
  },
};
