import { resolve } from 'node:path';
import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { printable, table, when } from '../text.js';
import { turnsOf } from '../turns.js';

export const turns: Command = {
  name: 'turns',
  summary: 'list the turns of an agent, and the checkpoint before each',
  args: ['[DIR]'],
  options: {},
  about: [
    'Lists the checkpoints that the guard took in DIR, oldest first; without DIR in every directory. One that is marked [late] was taken',
    'when a part of its turn had run already.',
    'To undo one turn and keep what came after it: `turnback revert` with its checkpoint and that of the next turn.',
  ],
  examples: ['turnback turns', 'turnback turns ~/project --json'],
  async run({ args: [directory] }, { store, output }) {
    const manager = await store();
    const sandbox = directory === undefined ? undefined : await manager.sandboxIdOf(directory);
    const found = turnsOf(await manager.listCheckpoints(sandbox));
    output.answer(
      { turns: found },
      () => {
        if (found.length === 0) {
          const whose = directory === undefined ? 'in this store' : `of ${printable(resolve(directory))} in this store`;
          return [
            `There are no turns ${whose}: the guard takes a checkpoint before each (createGuard, \`turnback run-guarded\`).`,
          ];
        }
        const rows = found.map((turn) => [
          printable(turn.turnId),
          when(turn.createdAt),
          turn.checkpointId,
          `${printable(turn.workspace)}${turn.late ? ' [late]' : ''}${turn.complete ? '' : ' [partial]'}`,
        ]);
        return table(['TURN', 'BEGAN', 'CHECKPOINT', 'WORKSPACE'], rows);
      },
      () => found.map(({ turnId, checkpointId }) => `${checkpointId} ${printable(turnId)}`),
    );
    return EXIT.done;
  },
};
