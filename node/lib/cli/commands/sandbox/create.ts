import { type AnySandbox, CopyOnWriteSandbox, createSandbox, GitWorktreeSandbox } from '../../../sandbox/index.js';
import type { Command } from '../../command.js';
import { EXIT } from '../../exit.js';
import { MAKING, making, next } from '../../sandboxes.js';
import { count, printable, when } from '../../text.js';

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

/** What there is to know besides: what is not as in the directory, and what is not isolated. */
function remarks(sandbox: AnySandbox): string[] {
  if (sandbox instanceof GitWorktreeSandbox) {
    const { branch, lfsPointers, submodules } = sandbox;
    return [
      `  on branch ${printable(branch)}`,
      ...(lfsPointers > 0
        ? [`  ${count(lfsPointers, 'file of Git LFS stays a pointer', 'files of Git LFS stay pointers')}`]
        : []),
      ...(submodules > 0
        ? [`  ${count(submodules, 'submodule is', 'submodules are')} empty; --seed carries one in`]
        : []),
    ];
  }
  const links = sandbox instanceof CopyOnWriteSandbox ? sandbox.copied.absoluteLinks : 0;
  if (links === 0) return [];
  return [
    `  not isolated: ${count(links, 'absolute link leads', 'absolute links lead')} back into the directory (see --json)`,
  ];
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
        ...remarks(sandbox),
        `  kept until ${when(detachedUntil)}, and for as long as it holds unsaved work`,
        `To work in it:          cd "$(${next(given, `path ${id}`)})"`,
        `To see what changed:    ${next(given, `changes ${id}`)}`,
        `To bring the work back: ${next(given, `commit ${id}`)}`,
      ],
      () => [id],
    );
    return EXIT.done;
  },
};
