import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { resolveKnown } from '../ids.js';
import { count } from '../text.js';

export const remove: Command = {
  name: 'delete',
  summary: 'delete checkpoints and free what only they held',
  args: ['ID…'],
  options: {},
  about: [
    'What other checkpoints hold too stays. Pinned ones are deleted as well. When one of several ids is wrong, nothing is deleted.',
  ],
  examples: ['turnback delete 01KB8Y2V3M4N5P6Q7R8S9T0VWX', 'turnback delete 01KB8Y2V 01KB8Z4X'],
  async run({ args }, { store, output }) {
    const manager = await store();
    const ids = await resolveKnown(manager, args);
    const deleted: string[] = [];
    try {
      for (const id of ids) {
        await manager.deleteCheckpoint(id);
        // Also when somebody else was quicker: it is gone, as was wished.
        deleted.push(id);
      }
    } catch (error) {
      if (deleted.length > 0)
        output.note(`${count(deleted.length, 'checkpoint')} deleted before it failed: ${deleted.join(' ')}`);
      throw error;
    }
    output.answer(
      { deleted },
      () => deleted.map((id) => `Deleted ${id}.`),
      () => [],
    );
    return EXIT.done;
  },
};
