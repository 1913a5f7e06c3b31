import { oneOf } from '../../check.js';
import type { Command } from '../command.js';
import { EXIT, UsageError } from '../exit.js';
import { resolveListed } from '../ids.js';
import { isWhole, relativePaths, rollbackEssentials, rollbackLines } from '../lists.js';
import { recoveredLines, recoveredWhole } from '../pending.js';
import { printable } from '../text.js';
import { checkpointOfTurn } from '../turns.js';
import { deadlineOf } from '../units.js';

const gitMode = oneOf('keep', 'exact');

export const rollback: Command = {
  name: 'rollback',
  summary: "make a checkpoint's directory what it was",
  args: ['[ID]'],
  options: {
    turn: {
      value: 'TURN',
      help: "instead of ID: to before this turn of the working directory's agent; see `turnback turns`",
    },
    of: { value: 'DIR', help: 'with --turn: of this directory instead of the working directory' },
    'dry-run': { help: 'only show what would be done' },
    path: { value: 'P', multiple: true, help: 'restore only this path, relative to the directory; may be given again' },
    into: { value: 'DIR', help: 'restore into this directory instead' },
    'allow-replaced-root': {
      help: 'go on when the directory is another one than the one that was checkpointed, or DIR is not empty',
    },
    git: {
      value: 'keep|exact',
      help: 'keep overwrites nothing inside .git (default); exact restores it too (default for sandboxes)',
    },
    'no-safety': {
      help: 'take no checkpoint of the present state first: it cannot be undone (for a store or a disk without room)',
    },
    deadline: {
      value: 'TIME',
      help: 'give up after this time (30s, 5m); the next command then finishes what was begun',
    },
  },
  about: [
    'Restores the directory that the checkpoint was taken of: new files go, deleted ones come back, only what differs is written.',
    'The present state is checkpointed first; `turnback undo` brings it back.',
    'Exits with 3 when something could not be restored, or with --path when an interrupted rollback was finished first and left something;',
    'it is listed with its reason. A directory of which only the modification time differs is restored too, but not listed.',
  ],
  examples: [
    'turnback rollback 01KB8Y2V3M4N5P6Q7R8S9T0VWX --dry-run',
    'turnback rollback 01KB8Y2V3M4N5P6Q7R8S9T0VWX',
    'turnback rollback 01KB8Y --path src/main.c',
    'turnback rollback --turn 42',
  ],
  async run({ args: [given], value, values, has }, { store, output, signal, partial }) {
    const dryRun = has('dry-run');
    const into = value('into');
    const wished = value('git');
    const git = wished === undefined ? undefined : gitMode('--git', wished);
    const paths = relativePaths(values('path'));
    const deadlineMs = deadlineOf(value('deadline'));
    const turn = value('turn');
    if ((given === undefined) === (turn === undefined)) {
      throw new UsageError('rollback needs either ID or --turn', 'see `turnback rollback --help`');
    }
    if (turn === undefined && has('of'))
      throw new UsageError('--of goes with --turn', 'see `turnback rollback --help`');
    const manager = await store();
    const of = turn === undefined ? undefined : await checkpointOfTurn(manager, value('of') ?? '.', turn);
    const target = await resolveListed(manager, of?.checkpointId ?? given ?? '');
    if (of?.late)
      output.note(`the checkpoint of turn ${printable(of.turnId)} is late: a part of the turn had run already`);
    const progress = output.progress();
    const report = await manager
      .rollbackTo(target, {
        signal,
        onProgress: progress.onProgress,
        deadlineMs,
        dryRun,
        git,
        into,
        safety: !has('no-safety'),
        allowReplacedRoot: has('allow-replaced-root'),
        ...(paths.length === 0 ? {} : { paths }),
      })
      .finally(progress.end);
    const place = printable(into ?? target.workspace);
    output.answer(
      report,
      () => [
        ...rollbackLines(report, { dryRun, place, safety: !has('no-safety'), typed: output.typed }),
        ...recoveredLines(report.recovered, output),
      ],
      () => rollbackEssentials(report),
    );
    // Without --path it went over everything that the interrupted one had left.
    const whole = isWhole(report) && (paths.length === 0 || recoveredWhole(report));
    return whole ? EXIT.done : partial;
  },
};
