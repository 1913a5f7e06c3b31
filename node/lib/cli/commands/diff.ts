import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { resolveId } from '../ids.js';
import { changeCounts, changeLines, changeSummary } from '../lists.js';
import { notePending } from '../pending.js';

export const diff: Command = {
  name: 'diff',
  summary: 'show what differs between two checkpoints, or one and now',
  args: ['A', '[B]'],
  options: {},
  about: [
    'Compares checkpoint A with checkpoint B, or without B with its directory as it is now. One line a path:',
    'A added, D deleted, M modified, T of another type, m other metadata (mode, owner, time). Of a directory the time does not count: it is',
    'restored by a rollback, but not listed.',
  ],
  examples: ['turnback diff 01KB8Y2V3M4N5P6Q7R8S9T0VWX', 'turnback diff 01KB8Y 01KB8Z --json'],
  async run({ args: [left = '', right] }, { store, output, signal }) {
    const manager = await store();
    const from = await resolveId(manager, left);
    const to = right === undefined ? 'now' : await resolveId(manager, right);
    const progress = output.progress();
    const changes = await manager.diff(from, to, { signal, onProgress: progress.onProgress }).finally(progress.end);
    const pending = await notePending(manager, output);
    output.answer(
      { from, to, counts: changeCounts(changes), changes, pending },
      () => (changes.length === 0 ? ['No difference.'] : [...changeLines(changes), changeSummary(changes)]),
      () => changeLines(changes),
    );
    return EXIT.done;
  },
};
