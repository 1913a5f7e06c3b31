import type { Command } from '../../command.js';
import { EXIT } from '../../exit.js';
import { sandboxOf } from '../../sandboxes.js';
import { printable } from '../../text.js';

export const path: Command = {
  name: 'sandbox path',
  summary: 'print where a sandbox lies',
  args: ['ID'],
  options: {},
  about: ['Prints the directory to work in, as it is: for `cd "$(turnback sandbox path ID)"`. Changes nothing.'],
  examples: ['cd "$(turnback sandbox path 3f2a9c)"'],
  async run({ args: [id = ''], has }, { store, output }) {
    const sandbox = await sandboxOf(await store(), id);
    const { path: text, pathBytes, resource } = sandbox;
    // A terminal gets nothing that moves its cursor; everybody else gets the path's own bytes.
    if (has('json') || process.stdout.isTTY) {
      const shown = pathBytes === undefined ? printable(text) : text;
      const answer = () => [shown];
      output.answer({ id: sandbox.id, path: text, pathBytes, resource }, answer, answer);
    } else {
      process.stdout.write(Buffer.concat([Buffer.from(pathBytes ?? Buffer.from(text)), Buffer.from('\n')]));
    }
    return EXIT.done;
  },
};
