import { oneOf } from '../../check.js';
import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { resolveListed } from '../ids.js';
import { isWhole, rollbackEssentials, rollbackLines } from '../lists.js';
import { printable } from '../text.js';

const gitMode = oneOf('keep', 'exact');

export const rollback: Command = {
  name: 'rollback',
  summary: "make a checkpoint's directory what it was",
  args: ['ID'],
  options: {
    'dry-run': { help: 'only show what would be done' },
    path: { value: 'P', multiple: true, help: 'restore only this path, relative to the directory; may be given again' },
    into: { value: 'DIR', help: 'restore into this directory instead' },
    'allow-replaced-root': {
      help: 'go on when the directory is another one than the one that was checkpointed, or DIR is not empty',
    },
    git: { value: 'keep|exact', help: 'keep (default) overwrites nothing inside .git; exact restores it too' },
  },
  about: [
    'Restores the directory that the checkpoint was taken of: new files go, deleted ones come back, only what differs is written.',
    'The present state is checkpointed first; `turnback undo` brings it back.',
    'Exits with 3 when something could not be restored; it is listed with its reason.',
  ],
  examples: [
    'turnback rollback 01KB8Y2V3M4N5P6Q7R8S9T0VWX --dry-run',
    'turnback rollback 01KB8Y2V3M4N5P6Q7R8S9T0VWX',
    'turnback rollback 01KB8Y --path src/main.c',
  ],
  async run({ args: [given = ''], value, values, has }, { store, output, signal, partial }) {
    const dryRun = has('dry-run');
    const into = value('into');
    const git = gitMode('--git', value('git') ?? 'keep');
    const paths = values('path').map((path) => path.replace(/^(?:\.\/+)+/, '').replace(/(?<=.)\/+$/, ''));
    const manager = await store();
    const target = await resolveListed(manager, given);
    const progress = output.progress();
    const report = await manager
      .rollbackTo(target, {
        signal,
        onProgress: progress.onProgress,
        dryRun,
        git,
        into,
        allowReplacedRoot: has('allow-replaced-root'),
        ...(paths.length === 0 ? {} : { paths }),
      })
      .finally(progress.end);
    const place = printable(into ?? target.workspace);
    output.answer(
      report,
      () => rollbackLines(report, { dryRun, place }),
      () => rollbackEssentials(report),
    );
    return isWhole(report) ? EXIT.done : partial;
  },
};
