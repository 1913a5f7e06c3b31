import {
  type AnySandbox,
  CopyOnWriteSandbox,
  createSandbox,
  GitWorktreeSandbox,
  NoSandbox,
} from '../../../sandbox/index.js';
import type { Command } from '../../command.js';
import { EXIT } from '../../exit.js';
import { MAKING, making, next, remarks } from '../../sandboxes.js';
import { printable, when } from '../../text.js';

const HOW: Record<string, string> = {
  btrfs: 'a snapshot (btrfs)',
  reflink: 'a copy that shares its blocks until they are written (reflink)',
  copy: 'a copy',
  worktree: 'a git worktree',
  in_place: 'the directory itself: nothing is isolated',
};

/** A sandbox for programs. */
function described(sandbox: AnySandbox): object {
  const { id, path, pathBytes, resource, strategy, mechanism, planId, writablePaths } = sandbox;
  const same = { id, path, pathBytes, resource, strategy, mechanism, planId, writablePaths };
  if (sandbox instanceof GitWorktreeSandbox) {
    const { branch, lfsPointers, lfsPaths, submodules, submodulePaths } = sandbox;
    return { ...same, branch, lfsPointers, lfsPaths, submodules, submodulePaths };
  }
  if (!(sandbox instanceof CopyOnWriteSandbox)) return same;
  const { copied, absoluteLinks } = sandbox;
  return { ...same, copied, absoluteLinks };
}

export const create: Command = {
  name: 'sandbox create',
  summary: 'make an isolated copy of a directory to work in',
  args: ['[DIR]'],
  options: MAKING,
  about: [
    'Makes a sandbox of DIR (default: the working directory) and prints its id. Nothing that is done in it touches DIR until it is committed.',
    'It stays when this command ends. Without unsaved work it may be removed once its time is over; with unsaved work never.',
  ],
  examples: [
    'turnback sandbox create',
    'turnback sandbox create ~/project --strategy git_worktree --seed node_modules',
    'ID=$(turnback sandbox create --quiet); cd "$(turnback sandbox path $ID)"',
  ],
  async run(given, { store, output, signal }) {
    const { detachedForMs, options } = making(given);
    const checkpoints = await store();
    const progress = output.progress();
    const resource = given.args[0] ?? '.';
    const { onProgress } = progress;
    const sandbox = await createSandbox({ resource, ...options, checkpoints, signal, onProgress }).finally(
      progress.end,
    );
    const { id, path, mechanism, status } = sandbox;
    const detachedUntil = new Date(Date.now() + detachedForMs);
    output.answer(
      { ...described(sandbox), status, detachedUntil },
      () => [
        id,
        `  ${HOW[mechanism] ?? mechanism} of ${printable(sandbox.resource)}`,
        `  ${printable(path)}`,
        ...(sandbox instanceof GitWorktreeSandbox ? [`  on branch ${printable(sandbox.branch)}`] : []),
        ...remarks(sandbox).map((remark) => `  ${remark}`),
        `  kept until ${when(detachedUntil)}, and for as long as it holds unsaved work`,
        ...(sandbox instanceof NoSandbox
          ? [`To be able to go back: ${output.typed('checkpoint', path)}`]
          : [
              `To work in it:          cd "$(${next(given, `path ${id}`)})"`,
              `To see what changed:    ${next(given, `changes ${id}`)}`,
              `To bring the work back: ${next(given, `commit ${id}`)}`,
            ]),
      ],
      () => [id],
    );
    return EXIT.done;
  },
};
