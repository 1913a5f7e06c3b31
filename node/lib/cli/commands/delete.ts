import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { afterSome, known, resolveKnown } from '../ids.js';

export const remove: Command = {
  name: 'delete',
  summary: 'delete checkpoints and free what only they held',
  args: ['ID…'],
  options: {},
  about: [
    'What other checkpoints hold too stays. Pinned ones are deleted as well. When one of several ids is wrong or cannot go now, nothing is',
    'deleted.',
  ],
  examples: ['turnback delete 01KB8Y2V3M4N5P6Q7R8S9T0VWX', 'turnback delete 01KB8Y2V 01KB8Z4X'],
  async run({ args }, { store, output }) {
    const manager = await store();
    const ids = await resolveKnown(manager, args);
    const deleted = await manager.deleteCheckpoints(ids).catch(async (error: unknown) => {
      const left = await known(manager);
      const gone = ids.filter((id) => !left.has(id));
      throw afterSome(error, gone, 'deleted');
    });
    output.answer(
      { deleted },
      () => deleted.map((id) => `Deleted ${id}.`),
      () => [],
    );
    return EXIT.done;
  },
};
