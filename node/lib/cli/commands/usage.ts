import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { printable, size, table } from '../text.js';

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
    output.answer(
      { storePath: manager.storePath, ...report },
      () => [
        `${printable(manager.storePath)} holds ${size(report.storeBytes)}${report.maxBytes > 0 ? ` of at most ${size(report.maxBytes)}` : ''}.`,
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
