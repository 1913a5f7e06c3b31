import type { Command } from '../../command.js';
import { EXIT } from '../../exit.js';
import { changeCounts, changeLines, changeSummary } from '../../lists.js';
import { page } from '../../pager.js';
import { changedLines, sandboxOf } from '../../sandboxes.js';

export const changes: Command = {
  name: 'sandbox changes',
  summary: 'show what a sandbox changed',
  args: ['ID'],
  options: { patch: { help: 'show texts line by line, also where standard output is no terminal' } },
  about: [
    'Compares the sandbox with what it was made of, or with its last commit. On a terminal the texts are shown as well, page by page:',
    'PAGER says by what (default: less; empty for none), NO_COLOR keeps it from being coloured.',
  ],
  examples: ['turnback sandbox changes 3f2a9c', 'turnback sandbox changes 3f2a9c --patch >work.diff'],
  async run({ args: [id = ''], has }, { store, output, signal }) {
    const manager = await store();
    const sandbox = await sandboxOf(manager, id);
    const progress = output.progress();
    const { onProgress } = progress;
    const found = await sandbox.changes({ signal, onProgress }).finally(progress.end);
    const texts = has('patch') || (process.stdout.isTTY && !output.quiet);
    if (found.length > 0 && texts && !has('json')) {
      const lines = await changedLines(manager, sandbox, found);
      await page(`${lines.join('\n')}\n`);
      return EXIT.done;
    }
    output.answer(
      { id: sandbox.id, changes: found, counts: changeCounts(found) },
      () => (found.length === 0 ? ['No difference.'] : [...changeLines(found), changeSummary(found)]),
      () => changeLines(found),
    );
    return EXIT.done;
  },
};
