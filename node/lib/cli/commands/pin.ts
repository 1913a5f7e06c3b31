import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { afterSome, resolveKnown } from '../ids.js';

function pinning(name: 'pin' | 'unpin', pinned: boolean, rest: Pick<Command, 'summary' | 'about'>): Command {
  return {
    name,
    ...rest,
    args: ['ID…'],
    options: {},
    examples: [`turnback ${name} 01KB8Y2V3M4N5P6Q7R8S9T0VWX`],
    async run({ args }, { store, output }) {
      const manager = await store();
      const ids = await resolveKnown(manager, args);
      const labelsLost: string[] = [];
      for (const [at, id] of ids.entries()) {
        try {
          if ((await manager.pin(id, pinned)) === 'label') labelsLost.push(id);
        } catch (error) {
          throw afterSome(error, ids.slice(0, at), `${name}ned`, id);
        }
      }
      output.answer(
        { checkpointIds: ids, pinned, labelsLost },
        () => ids.map((id) => (pinned ? `Pinned ${id}.` : `${id} is not pinned any more.`)),
        () => [],
      );
      return EXIT.done;
    },
  };
}

export const pin: Command = pinning('pin', true, {
  summary: 'keep checkpoints from being pruned',
  about: [
    'No prune and no retention takes a pinned checkpoint; `turnback delete` still does. `turnback unpin` takes it back.',
  ],
});

export const unpin: Command = pinning('unpin', false, {
  summary: 'let checkpoints be pruned again',
  about: ['Takes back `turnback pin`. Nothing happens when a checkpoint is not pinned.'],
});
