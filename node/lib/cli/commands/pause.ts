import type { Command } from '../command.js';
import { EXIT } from '../exit.js';

export const pause: Command = {
  name: 'pause',
  summary: "switch the guard's checkpoints off for this store",
  args: [],
  options: {},
  about: [
    'Every process that uses the store sees it before its next batch. What the guard answers then is `skipped` (paused).',
    'Checkpoints that somebody asks for are still taken. `turnback resume` switches them on again.',
  ],
  examples: ['turnback pause'],
  async run(_given, { store, output }) {
    const manager = await store();
    await manager.pause();
    output.answer(
      { paused: true, store: manager.storePath },
      () => [`The guard's checkpoints are off. To switch them on: ${output.typed('resume')}`],
      () => [],
    );
    return EXIT.done;
  },
};

export const resume: Command = {
  name: 'resume',
  summary: "switch the guard's checkpoints on again",
  args: [],
  options: {},
  about: ['Takes back `turnback pause`. Nothing happens when they are on.'],
  examples: ['turnback resume'],
  async run(_given, { store, output }) {
    const manager = await store();
    await manager.resume();
    output.answer(
      { paused: false, store: manager.storePath },
      () => ["The guard's checkpoints are on."],
      () => [],
    );
    return EXIT.done;
  },
};
