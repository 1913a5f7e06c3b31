import { TurnbackError } from '../../errors.js';
import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { resolveId } from '../ids.js';

export const remove: Command = {
  name: 'delete',
  summary: 'delete a checkpoint and free what only it held',
  args: ['ID'],
  options: {},
  about: ['What other checkpoints hold too stays.'],
  examples: ['turnback delete 01KB8Y2V3M4N5P6Q7R8S9T0VWX'],
  async run({ args: [given = ''] }, { store, output }) {
    const manager = await store();
    const checkpointId = await resolveId(manager, given);
    if (!(await manager.deleteCheckpoint(checkpointId))) {
      throw new TurnbackError(
        'NOT_FOUND',
        `there is no checkpoint ${checkpointId} in this store; \`turnback list\` shows all`,
      );
    }
    output.answer(
      { checkpointId, deleted: true },
      () => [`Deleted ${checkpointId}.`],
      () => [],
    );
    return EXIT.done;
  },
};
