import { label as labelText } from '../../options.js';
import type { Command } from '../command.js';
import { EXIT, UsageError } from '../exit.js';
import { resolveKnown } from '../ids.js';
import { printable } from '../text.js';

export const label: Command = {
  name: 'label',
  summary: 'give a checkpoint a label, or remove it',
  args: ['ID', '[TEXT]'],
  options: { remove: { help: 'remove the label' } },
  about: [
    'TEXT is a name for people, at most 200 bytes; `turnback list` shows it. A new one replaces the old one.',
    'Automatic retention leaves labelled checkpoints alone; `turnback prune` with rules of yours does not.',
  ],
  examples: ['turnback label 01KB8Y2V "before the upgrade"', 'turnback label 01KB8Y2V --remove'],
  async run({ args: [given = '', text], has }, { store, output }) {
    if (has('remove') === (text !== undefined)) {
      throw new UsageError('label needs either TEXT or --remove', 'see `turnback label --help`');
    }
    const wish = text === undefined ? null : labelText('TEXT', text);
    const manager = await store();
    const [id = ''] = await resolveKnown(manager, [given]);
    const lost = await manager.label(id, wish);
    output.answer(
      { checkpointId: id, label: wish, pinLost: lost === 'pin' },
      () => [wish === null ? `${id} has no label any more.` : `${id} is labelled ${printable(wish)}.`],
      () => [],
    );
    return EXIT.done;
  },
};
