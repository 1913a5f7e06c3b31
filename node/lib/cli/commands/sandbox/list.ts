import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { listSandboxes, type SandboxInfo } from '../../../sandbox/index.js';
import type { Command } from '../../command.js';
import { EXIT } from '../../exit.js';
import { next } from '../../sandboxes.js';
import { count, printable, table } from '../../text.js';

const OWNERS: Record<SandboxInfo['owner'], string> = {
  this_process: 'this process',
  alive: 'a process',
  detached: 'its lease',
  orphan: 'nobody',
};

/** As the records have it; a directory that is gone is called what it was called. */
function canonical(directory: string): string {
  try {
    return realpathSync(directory);
  } catch {
    return resolve(directory);
  }
}

export const list: Command = {
  name: 'sandbox list',
  summary: 'list sandboxes',
  args: ['[DIR]'],
  options: {},
  about: [
    'Lists the sandboxes of the store, or those of DIR. KEPT BY says why one is not removed: a process that uses it, or its lease, which runs for the time that it was made with;',
    'those that nobody keeps any more, `turnback sandbox cleanup --abandoned` removes if they hold no unsaved work.',
  ],
  examples: ['turnback sandbox list', 'turnback sandbox list ~/project --json'],
  async run(given, { store, output, signal }) {
    const [directory] = given.args;
    const resource = directory === undefined ? undefined : canonical(directory);
    const progress = output.progress();
    const { onProgress } = progress;
    const all = await listSandboxes({ checkpoints: await store(), signal, onProgress }).finally(progress.end);
    const sandboxes = all.filter((one) => resource === undefined || one.resource === resource);
    output.answer(
      { sandboxes },
      () => {
        if (sandboxes.length === 0) {
          const whose = resource === undefined ? 'in this store' : `of ${printable(resource)} in this store`;
          return [`There are no sandboxes ${whose}. \`${output.typed('sandbox', 'create')}\` makes one.`];
        }
        const rows = sandboxes.map((one) => [
          one.id,
          one.strategy,
          one.status,
          OWNERS[one.owner],
          one.unsaved === 'unknown' ? 'unknown' : one.unsaved ? 'yes' : 'no',
          printable(one.planId ?? ''),
          printable(one.resource),
        ]);
        const problems = sandboxes.flatMap(({ id, problem }) =>
          problem === undefined ? [] : [`${id}: ${printable(problem)}`],
        );
        const orphans = sandboxes.filter(({ owner }) => owner === 'orphan').length;
        return [
          ...table(['ID', 'STRATEGY', 'STATUS', 'KEPT BY', 'UNSAVED', 'PLAN', 'RESOURCE'], rows),
          ...problems,
          ...(orphans === 0
            ? []
            : [
                `${count(orphans, 'sandbox is', 'sandboxes are')} kept by nobody; without unsaved work this removes them: ${next(given, 'cleanup --abandoned')}`,
              ]),
        ];
      },
      () => sandboxes.map(({ id }) => id),
    );
    return EXIT.done;
  },
};
