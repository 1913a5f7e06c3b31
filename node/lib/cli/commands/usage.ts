import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { notePending } from '../pending.js';
import { printable, share, size, table } from '../text.js';

export const usage: Command = {
  name: 'usage',
  summary: 'show what the store holds and what a deletion would free',
  args: [],
  options: {},
  about: ['What several checkpoints share counts for none of them: deleting one frees only what no other holds.'],
  examples: ['turnback usage', 'turnback usage --json'],
  async run(_given, { store, output }) {
    const manager = await store();
    const report = await manager.usage();
    const { storeBytes, maxBytes } = report;
    const pending = await notePending(manager, output);
    output.answer(
      { storePath: manager.storePath, ...report, pending },
      () => [
        `${printable(manager.storePath)} holds ${size(storeBytes)} of at most ${size(maxBytes)} (${share(storeBytes, maxBytes)}).`,
        ...(report.checkpoints.length === 0
          ? []
          : table(
              ['ID', 'FREED BY DELETE'],
              report.checkpoints.map((one) => [one.checkpointId, size(one.freedByDeleteBytes)]),
              ['FREED BY DELETE'],
            )),
      ],
      () => [String(report.storeBytes)],
    );
    return EXIT.done;
  },
};
