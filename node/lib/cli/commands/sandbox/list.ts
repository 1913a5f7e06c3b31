import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { TurnbackError } from '../../../errors.js';
import { listAll } from '../../../sandbox/create.js';
import type { DamagedSandbox, SandboxInfo } from '../../../sandbox/index.js';
import type { Command } from '../../command.js';
import { EXIT } from '../../exit.js';
import { shown } from '../../ids.js';
import { next } from '../../sandboxes.js';
import { count, printable, table, when } from '../../text.js';

const OWNERS: Record<SandboxInfo['owner'], string> = {
  this_process: 'this process',
  alive: 'a process',
  detached: 'its lease',
  orphan: 'nobody',
};

/** Who keeps a sandbox. */
function keptBy({ owner, detachedUntil }: SandboxInfo): string {
  const until = owner === 'detached' && detachedUntil !== undefined ? ` until ${when(detachedUntil)}` : '';
  return `${OWNERS[owner]}${until}`;
}

/** Whose they are cannot be told, so that they are named whatever directory was asked for. */
function damagedLines(damaged: readonly DamagedSandbox[]): string[] {
  if (damaged.length === 0) return [];
  const whose = damaged.length === 1 ? 'the record of 1 sandbox' : `the records of ${damaged.length} sandboxes`;
  return [
    `Not shown, because ${whose} cannot be read; nothing of it is removed:`,
    ...damaged.map(({ id, owner, reason }) => `  ${id}  (kept by ${OWNERS[owner]}; ${printable(reason)})`),
  ];
}

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
    'Lists the sandboxes of the store, or those of DIR. KEPT BY says why one is not removed: a process that uses it, or its lease, which runs for the time that it was made with, or given since (`sandbox lease`);',
    'those that nobody keeps any more, `turnback sandbox cleanup --abandoned` removes if they hold no unsaved work.',
  ],
  examples: ['turnback sandbox list', 'turnback sandbox list ~/project --json'],
  async run(given, { store, output, signal }) {
    const [directory] = given.args;
    const resource = directory === undefined ? undefined : canonical(directory);
    const progress = output.progress();
    const { onProgress } = progress;
    const found = await listAll({ checkpoints: await store(), signal, onProgress }).finally(progress.end);
    const { damaged } = found;
    const sandboxes = found.sandboxes.filter((one) => resource === undefined || one.resource === resource);
    if (resource !== undefined && sandboxes.length === 0 && !existsSync(resource)) {
      throw new TurnbackError(
        'NOT_FOUND',
        `there is no directory ${shown(resource)}, and no sandbox of one in this store`,
      );
    }
    output.answer(
      { sandboxes, damaged },
      () => {
        if (sandboxes.length === 0) {
          const whose = resource === undefined ? 'in this store' : `of ${printable(resource)} in this store`;
          return [
            `There are no sandboxes ${whose}. \`${output.typed('sandbox', 'create')}\` makes one.`,
            ...damagedLines(damaged),
          ];
        }
        const rows = sandboxes.map((one) => [
          one.id,
          one.strategy,
          one.status,
          keptBy(one),
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
          ...damagedLines(damaged),
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
