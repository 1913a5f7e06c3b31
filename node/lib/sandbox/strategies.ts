import type { NativeSandbox } from '../native.js';
import type { OpenStore } from '../store.js';
import { BaseSandbox } from './base.js';
import { heldSandbox, hold } from './held.js';
import { texts } from './records.js';

/** A directory in place (`none`): writes go straight to the resource, and only a checkpoint can bring an earlier state back (S12). */
export class NoSandbox extends BaseSandbox {
  override readonly strategy = 'none';
}

/** How the files of a copy came about. */
export interface Copied {
  /** Files that share their blocks with the resource's. */
  readonly sharedFiles: number;
  /** Files whose bytes were copied; with `reflink` the small ones, for which that is cheaper. */
  readonly copiedFiles: number;
  /** Of those, the ones that were to share their blocks and that the file system refused. */
  readonly refusedFiles: number;
  /** Absolute links that lead back into the resource: writing through them is not isolated. */
  readonly absoluteLinks: number;
}

/** An isolated copy (`copy_on_write`): what happens to the resource later is not seen in it (S5). */
export class CopyOnWriteSandbox extends BaseSandbox {
  override readonly strategy = 'copy_on_write';
  readonly copied: Copied;
  /** The first 100 absolute links that lead back into the resource. */
  readonly absoluteLinks: readonly string[];

  /** @internal */
  constructor(native: NativeSandbox, store: OpenStore) {
    super(native, store);
    this.copied = Object.freeze(native.copied);
    this.absoluteLinks = texts(native.absoluteLinks);
  }
}

/** A worktree of the resource's repository on a branch of its own (`git_worktree`, S7). */
export class GitWorktreeSandbox extends BaseSandbox {
  override readonly strategy = 'git_worktree';
  /** The sandbox's branch. */
  readonly branch: string;
  /** How many files are pointers to content that LFS keeps elsewhere; they stay pointers (S8). */
  readonly lfsPointers: number;
  /** The first 100 of them. */
  readonly lfsPaths: readonly string[];
  /** How many submodules there are; their directories stay empty unless they are seeded. */
  readonly submodules: number;
  /** The first 100 of them. */
  readonly submodulePaths: readonly string[];

  /** @internal */
  constructor(native: NativeSandbox, store: OpenStore) {
    super(native, store);
    const { git } = native;
    this.branch = git?.branch ?? '';
    this.lfsPointers = git?.lfsPointers ?? 0;
    this.lfsPaths = texts(git?.lfsPaths ?? []);
    this.submodules = git?.submodules ?? 0;
    this.submodulePaths = texts(git?.submodulePaths ?? []);
  }
}

/** Any of the three. */
export type AnySandbox = NoSandbox | CopyOnWriteSandbox | GitWorktreeSandbox;

function made(native: NativeSandbox, store: OpenStore): AnySandbox {
  switch (native.strategy) {
    case 'none':
      return new NoSandbox(native, store);
    case 'git_worktree':
      return new GitWorktreeSandbox(native, store);
    default:
      return new CopyOnWriteSandbox(native, store);
  }
}

/** @internal The object of a sandbox: always the same one as long as this process holds it. */
export function sandboxOf(native: NativeSandbox, store: OpenStore): AnySandbox {
  const known = heldSandbox(store, native.id);
  if (known !== undefined) return known as AnySandbox;
  const sandbox = made(native, store);
  Object.freeze(sandbox);
  hold(store, sandbox);
  return sandbox;
}
