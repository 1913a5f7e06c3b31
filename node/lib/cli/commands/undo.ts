import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { resolveListed } from '../ids.js';
import { isWhole, rollbackEssentials, rollbackLines } from '../lists.js';
import { recoveredLines, recoveredWhole } from '../pending.js';
import { printable } from '../text.js';
import { deadlineOf } from '../units.js';

export const undo: Command = {
  name: 'undo',
  summary: 'take a rollback or a revert back',
  args: ['ID'],
  options: {
    deadline: {
      value: 'TIME',
      help: 'give up after this time (30s, 5m); the next command then finishes what was begun',
    },
  },
  about: [
    'ID is the one that `turnback rollback` or `revert` printed: of the checkpoint that it took first. An undo can be undone too.',
    'Exits with 3 when something could not be restored, or when an interrupted rollback was finished first and left something.',
  ],
  examples: ['turnback undo 01KB8Y2V3M4N5P6Q7R8S9T0VWX'],
  async run({ args: [given = ''], value }, { store, output, signal, partial }) {
    const deadlineMs = deadlineOf(value('deadline'));
    const manager = await store();
    const target = await resolveListed(manager, given);
    const progress = output.progress();
    const report = await manager
      .undo(target.checkpointId, { signal, onProgress: progress.onProgress, deadlineMs })
      .finally(progress.end);
    output.answer(
      report,
      () => [
        ...rollbackLines(report, { place: printable(target.workspace), typed: output.typed }),
        ...recoveredLines(report.recovered, output),
      ],
      () => rollbackEssentials(report),
    );
    return isWhole(report) && recoveredWhole(report) ? EXIT.done : partial;
  },
};
