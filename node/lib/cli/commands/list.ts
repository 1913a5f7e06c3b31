import { resolve } from 'node:path';
import type { ListedCheckpoint } from '../../types.js';
import type { Command } from '../command.js';
import { EXIT } from '../exit.js';
import { notePending } from '../pending.js';
import { printable, size, table, when } from '../text.js';

const MARKS_ADVICE =
  'Where label and pin are damaged the checkpoint counts as pinned; `turnback pin`, `unpin` or `label` writes them anew.';

function pinText({ pinned, marksDamaged }: ListedCheckpoint): string {
  if (marksDamaged !== undefined) return ' [label and pin damaged]';
  return pinned ? ' [pinned]' : '';
}

export const list: Command = {
  name: 'list',
  summary: 'list the checkpoints of a directory, or all',
  args: ['[DIR]'],
  options: {},
  about: [
    'Lists the checkpoints of DIR, oldest first; without DIR those of every directory. DIR need not exist any more.',
  ],
  examples: ['turnback list', 'turnback list .', 'turnback list --json'],
  async run({ args: [directory] }, { store, output }) {
    const manager = await store();
    const sandbox = directory === undefined ? undefined : await manager.sandboxIdOf(directory);
    const checkpoints = await manager.listCheckpoints(sandbox);
    const [damaged, pending] = [await manager.listDamaged(), await notePending(manager, output)];
    output.answer(
      { checkpoints, damaged, pending },
      () => {
        if (checkpoints.length === 0) {
          const whose = directory === undefined ? 'in this store' : `of ${printable(resolve(directory))} in this store`;
          return [`There are no checkpoints ${whose}. \`${output.typed('checkpoint')}\` takes one.`];
        }
        const rows = checkpoints.map((one) => [
          one.checkpointId,
          when(one.createdAt),
          one.phase,
          printable(one.planId),
          printable(one.label ?? ''),
          one.coverage.files.toLocaleString('en-US'),
          size(one.coverage.bytes),
          `${printable(one.workspace)}${one.coverage.complete ? '' : ' [partial]'}${pinText(one)}`,
        ]);
        return [
          ...table(['ID', 'WHEN', 'PHASE', 'PLAN', 'LABEL', 'PATHS', 'SIZE', 'WORKSPACE'], rows, ['PATHS', 'SIZE']),
          ...(checkpoints.some(({ marksDamaged }) => marksDamaged !== undefined) ? [MARKS_ADVICE] : []),
        ];
      },
      () => checkpoints.map(({ checkpointId }) => checkpointId),
    );
    return EXIT.done;
  },
};
