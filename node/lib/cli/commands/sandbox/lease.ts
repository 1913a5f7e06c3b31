import { keepFor } from '../../../sandbox/create.js';
import type { Command } from '../../command.js';
import { EXIT } from '../../exit.js';
import { DETACHED, detachedFor, sandboxOf } from '../../sandboxes.js';
import { when } from '../../text.js';

export const lease: Command = {
  name: 'sandbox lease',
  summary: 'keep a sandbox for longer',
  args: ['ID'],
  options: {
    'detached-for': { value: 'TIME', help: `for how long from now on (default: ${DETACHED})` },
  },
  about: [
    'Nobody removes it before that time is over, `sandbox cleanup --abandoned` and other processes among them; with unsaved work nobody does then either.',
    'One that is kept for longer already stays so: `sandbox cleanup ID` ends it sooner.',
  ],
  examples: ['turnback sandbox lease 3f2a9c', 'turnback sandbox lease 3f2a9c --detached-for 30d'],
  async run(given, { store, output, signal }) {
    const detachedForMs = detachedFor(given);
    const sandbox = await sandboxOf(await store(), given.args[0] ?? '');
    const detachedUntil = await keepFor(sandbox, detachedForMs, { signal });
    const { id } = sandbox;
    output.answer(
      { id, detachedUntil },
      () => [`${id} is kept until ${when(detachedUntil)}, and for as long as it holds unsaved work.`],
      () => [detachedUntil.toISOString()],
    );
    return EXIT.done;
  },
};
