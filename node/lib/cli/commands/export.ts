import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { resolveListed } from '../ids.js';
import { coverageLines } from '../lists.js';
import { count, printable } from '../text.js';

export const exportTo: Command = {
  name: 'export',
  summary: 'write a checkpoint into a directory as plain files',
  args: ['ID', 'DIR'],
  options: {},
  about: ['DIR must be new or empty. Exits with 3 when the checkpoint does not cover everything.'],
  examples: ['turnback export 01KB8Y2V3M4N5P6Q7R8S9T0VWX /tmp/before'],
  async run({ args: [given = '', directory = ''] }, { store, output, signal, partial }) {
    const manager = await store();
    const { checkpointId, coverage } = await resolveListed(manager, given);
    const progress = output.progress();
    await manager.export(checkpointId, directory, { signal, onProgress: progress.onProgress }).finally(progress.end);
    output.answer(
      { checkpointId, directory, coverage },
      () => [`Wrote ${count(coverage.files, 'path')} into ${printable(directory)}.`, ...coverageLines(coverage)],
      () => [],
    );
    return coverage.complete ? EXIT.done : partial;
  },
};
