import { oneOf } from '../../check.js';
import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { resolveId, resolveListed } from '../ids.js';
import { isWhole, relativePaths, rollbackEssentials } from '../lists.js';
import { recoveredLines, recoveredWhole } from '../pending.js';
import { revertLines } from '../revert-lines.js';
import { printable } from '../text.js';
import { deadlineOf } from '../units.js';

const gitMode = oneOf('keep', 'exact');
const onConflictOf = oneOf('fail', 'ours', 'theirs');

export const revert: Command = {
  name: 'revert',
  summary: 'take back what changed between two checkpoints, keep later edits',
  args: ['FROM', 'TO'],
  options: {
    'on-conflict': {
      value: 'fail|ours|theirs',
      help: 'where a path was changed again since: change nothing (default), keep what is there now, or take it back too',
    },
    'dry-run': { help: 'only show what would be done' },
    path: {
      value: 'P',
      multiple: true,
      help: 'take back only this path, relative to the directory; may be given again',
    },
    git: {
      value: 'keep|exact',
      help: 'keep overwrites nothing inside .git (default); exact takes changes back there too (default for sandboxes)',
    },
    'allow-replaced-root': { help: 'go on when the directory is another one than the one that was checkpointed' },
    'no-safety': {
      help: 'take no checkpoint of the present state first: it cannot be undone (for a store or a disk without room)',
    },
    deadline: {
      value: 'TIME',
      help: 'give up after this time (30s, 5m); the next command then finishes what was begun',
    },
  },
  about: [
    "FROM is the checkpoint before the changes, TO the one after them: of an agent's turn the one that was taken before it, and the one",
    'before the next turn. Paths that did not change in between are never touched.',
    'The present state is checkpointed first; `turnback undo` brings it back. FROM and TO the other way round do the changes again.',
    'Exits with 4 when paths were changed again since and nothing was done for that; they are listed. With 3 when something could not be',
    'taken back, or when an interrupted rollback was finished first and left something.',
  ],
  examples: [
    'turnback revert 01KB8Y2V3M4N5P6Q7R8S9T0VWX 01KB8Z4X5P6Q7R8S9T0VWXYZ12 --dry-run',
    'turnback revert 01KB8Y2V 01KB8Z4X --on-conflict ours',
  ],
  async run({ args: [left = '', right = ''], value, values, has }, { store, output, signal, partial }) {
    const dryRun = has('dry-run');
    const onConflict = onConflictOf('--on-conflict', value('on-conflict') ?? 'fail');
    const wished = value('git');
    const git = wished === undefined ? undefined : gitMode('--git', wished);
    const paths = relativePaths(values('path'));
    const deadlineMs = deadlineOf(value('deadline'));
    const manager = await store();
    const before = await resolveListed(manager, left);
    const to = await resolveId(manager, right);
    const progress = output.progress();
    const report = await manager
      .revert(before.checkpointId, to, {
        signal,
        onProgress: progress.onProgress,
        deadlineMs,
        dryRun,
        onConflict,
        safety: !has('no-safety'),
        git,
        allowReplacedRoot: has('allow-replaced-root'),
        ...(paths.length === 0 ? {} : { paths }),
      })
      .finally(progress.end);
    const place = printable(before.workspace);
    // Not `--no-safety`: what is advised here can be undone (C8).
    const also = [
      ...paths.flatMap((path) => ['--path', path]),
      ...(git === undefined ? [] : ['--git', git]),
      ...(has('allow-replaced-root') ? ['--allow-replaced-root'] : []),
    ];
    const asked = { to, dryRun, onConflict, place, also, safety: !has('no-safety'), typed: output.typed };
    output.answer(
      report,
      () => [...revertLines(report, asked), ...recoveredLines(report.recovered, output)],
      () => rollbackEssentials(report),
    );
    if (onConflict === 'fail' && report.conflicts.length > 0) return EXIT.conflicts;
    return isWhole(report) && recoveredWhole(report) ? EXIT.done : partial;
  },
};
