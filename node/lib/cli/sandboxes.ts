/** What the commands on sandboxes share: which one is meant, how long one is kept, and how to go on. */
import { oneOf } from '../check.js';
import { invalidArgument, TurnbackError } from '../errors.js';
import type { CheckpointManager } from '../manager.js';
import { innerOf } from '../sandbox/base.js';
import {
  type AnySandbox,
  attachSandbox,
  type CleanupReport,
  CopyOnWriteSandbox,
  GitWorktreeSandbox,
  listSandboxes,
  type Remains,
} from '../sandbox/index.js';
import type { Change } from '../types.js';
import type { Given, Option } from './command.js';
import { shown } from './ids.js';
import { changeLines, changeSummary } from './lists.js';
import { paint } from './paint.js';
import { patchLines } from './patch.js';
import { count, printable, typed } from './text.js';
import { milliseconds } from './units.js';

/** What sandbox ids look like: those of copies are made of their place, those in place are numbered. */
const WHOLE = /^(?:ws-[0-9a-f]{32}|none-[0-7][0-9A-HJKMNP-TV-Z]{25})$/;
/** The beginning of one. The first part, which many share, may be left out. */
const PREFIX = /^(?:ws-)?[0-9a-f]{4,32}$|^none-[0-9A-HJKMNP-TV-Z]{6,26}$/;

/** Nobody holds a sandbox of the command line: for so long it counts as somebody's. Work that was not committed is kept even longer. */
export const DETACHED = '7d';

export const strategyOf = oneOf('none', 'copy_on_write', 'git_worktree');
export const mechanismOf = oneOf('auto', 'reflink', 'btrfs', 'copy');

/** The options of every command that makes a sandbox. */
export const MAKING: Record<string, Option> = {
  strategy: {
    value: 'S',
    help: 'copy_on_write (default): a copy; git_worktree: a worktree of the git repository; none: no isolation',
  },
  mechanism: { value: 'M', help: 'of copy_on_write: auto (default, the best there is), reflink, btrfs or copy' },
  location: {
    value: 'DIR',
    help: 'where it is made; DIR is made if it is missing (default: beside the store, or on the file system of what is isolated)',
  },
  plan: { value: 'ID', help: 'the plan that it belongs to' },
  seed: {
    value: 'PATH',
    multiple: true,
    help: 'of git_worktree: carry this ignored or untracked path in; may be given again',
  },
  'carry-changes': { help: 'of git_worktree: begin with the uncommitted changes' },
  'detached-for': {
    value: 'TIME',
    help: `how long it is kept without unsaved work before \`sandbox cleanup --abandoned\` removes it (default: ${DETACHED})`,
  },
};

/** How long a sandbox is to be kept, in milliseconds. */
export function detachedFor({ value }: Given): number {
  const detachedForMs = milliseconds('--detached-for', value('detached-for') ?? DETACHED);
  if (detachedForMs < 1) throw invalidArgument('--detached-for', '--detached-for is no time: give one, for example 7d');
  return detachedForMs;
}

/** What these options say. */
export function making(given: Given) {
  const { value, values, has } = given;
  const detachedForMs = detachedFor(given);
  const mechanism = value('mechanism');
  const location = value('location');
  return {
    detachedForMs,
    options: {
      strategy: strategyOf('--strategy', value('strategy') ?? 'copy_on_write'),
      ...(mechanism === undefined ? {} : { mechanism: mechanismOf('--mechanism', mechanism) }),
      ...(location === undefined ? {} : { location }),
      planId: value('plan'),
      ...(values('seed').length === 0 ? {} : { seed: values('seed') }),
      ...(has('carry-changes') ? { carryChanges: true } : {}),
      lease: { detachedForMs },
    },
  };
}

/** What is not in a sandbox as it is in its directory, and what is not isolated. */
export function remarks(sandbox: AnySandbox): string[] {
  if (sandbox instanceof GitWorktreeSandbox) {
    const { lfsPointers, submodules } = sandbox;
    return [
      ...(lfsPointers > 0
        ? [count(lfsPointers, 'file of Git LFS stays a pointer', 'files of Git LFS stay pointers')]
        : []),
      ...(submodules > 0
        ? [`${count(submodules, 'submodule is', 'submodules are')} empty; --seed carries one in`]
        : []),
    ];
  }
  const links = sandbox instanceof CopyOnWriteSandbox ? sandbox.copied.absoluteLinks : 0;
  if (links === 0) return [];
  const what = count(links, 'absolute link leads', 'absolute links lead');
  return [`not isolated: ${what} back into the directory (\`turnback sandbox create --json\` lists them)`];
}

/** The sandbox that was meant: by its id, or the beginning of exactly one in the store. */
export async function sandboxOf(checkpoints: CheckpointManager, given: string): Promise<AnySandbox> {
  return await attachSandbox(await idOf(checkpoints, given), { checkpoints });
}

async function idOf(checkpoints: CheckpointManager, given: string): Promise<string> {
  if (WHOLE.test(given)) return given;
  if (!PREFIX.test(given)) {
    throw invalidArgument(
      'ID',
      `${shown(given)} is no sandbox id: give one as \`turnback sandbox list\` shows it, or its first characters, four or more after ws-`,
    );
  }
  const ids = (await listSandboxes({ checkpoints })).map(({ id }) => id);
  const matching = ids.filter((id) => id.startsWith(given) || id.startsWith(`ws-${given}`));
  const [only] = matching;
  if (only === undefined) {
    throw new TurnbackError('NOT_FOUND', `no sandbox id begins with ${given}; \`turnback sandbox list\` shows all`);
  }
  if (matching.length > 1) {
    throw invalidArgument('ID', `${matching.length} sandbox ids begin with ${given}: give more of the id`);
  }
  return only;
}

/** A command on a sandbox as it is typed, in the same store. */
export function next(given: Given, words: string): string {
  return `turnback sandbox ${words}${also(given)}`;
}

function also({ value }: Given): string {
  const store = value('store');
  return store === undefined ? '' : typed(['--store', store]);
}

/** How to get back what a sandbox held, and what was left of it. */
export function savedLines(given: Given, { savedCheckpointId, remains }: CleanupReport): string[] {
  const left = remainsLines(remains);
  if (savedCheckpointId === undefined) return left;
  return [
    `What it held is in checkpoint ${savedCheckpointId}, which is pinned.`,
    `To get it back: turnback export ${savedCheckpointId} DIR${also(given)}`,
    ...left,
  ];
}

/** What was left of sandboxes that are gone, and what to do with it. */
export function remainsLines(remains: Remains | undefined): string[] {
  if (remains === undefined) return [];
  const { paths, refs, repositories } = remains;
  const list = (what: string, all: readonly string[]) =>
    all.length === 0 ? [] : [what, ...all.map((one) => `  ${printable(one)}`)];
  return [
    ...list('Left where it is, beside the sandbox:', paths),
    ...list('Refs that stay, because their commits are nowhere else (`git update-ref -d REF` removes one):', refs),
    ...list(
      'Repositories that moved or cannot be read (there, `git worktree prune` and `git branch -D` remove what is left):',
      repositories,
    ),
  ];
}

/** The checkpoint that a sandbox is compared with; `null` where there is none. */
async function baselineOf(sandbox: AnySandbox): Promise<string | null> {
  const { native, store } = innerOf(sandbox);
  return await store.call(() => native.baseline());
}

/** What changed in a sandbox: the paths, how many there are, and the texts; in colours where standard output has them. */
export async function changedLines(
  manager: CheckpointManager,
  sandbox: AnySandbox,
  changes: readonly Change[],
): Promise<string[]> {
  const lines = [...changeLines(changes), changeSummary(changes)];
  const checkpointId = await baselineOf(sandbox);
  if (checkpointId === null) return lines;
  const sides = { manager, checkpointId, directory: sandbox.pathBytes ?? sandbox.path };
  const patch = await patchLines(changes, sides, paint());
  return patch.length === 0 ? lines : [...lines, '', ...patch];
}
