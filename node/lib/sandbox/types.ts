/** What the sandbox functions take and give (S1–S12). Units stand in the names; paths are text, with the bytes beside it where text would lie. */
import type { CheckpointManager } from '../manager.js';
import type { Path } from '../paths.js';
import type { SandboxStatus } from '../policy.js';
import type { Change, Conflict, Long, OnConflict, RollbackReport, Uncovered } from '../types.js';

/** How a directory is isolated (S1): not at all, by a copy of it, or by a git worktree of its repository. */
export type Strategy = 'none' | 'copy_on_write' | 'git_worktree';

/**
 * How a sandbox was made: it is a snapshot of the resource's subvolume (`btrfs`), its files share their blocks with the resource's until
 * one of them is written (`reflink`), their bytes were copied (`copy`), they were written from a commit of the repository (`worktree`), or
 * nothing was made (`in_place`).
 */
export type Mechanism = 'btrfs' | 'reflink' | 'copy' | 'worktree' | 'in_place';

/** Where sandboxes are kept. */
export interface SandboxStoreOptions extends Long {
  /**
   * Whose store knows the sandboxes. By default the user's own store, opened when it is first needed and kept open until the process
   * ends, which it never holds up.
   */
  checkpoints?: CheckpointManager | undefined;
}

/** How to find a sandbox again. */
export interface AttachOptions extends SandboxStoreOptions {
  /**
   * Keep it from counting as abandoned for `detachedForMs` from now on, whoever lives (S9). It is a promise that may have been given to
   * others: one that was to be kept for longer already is kept so long. Without it nothing of that changes.
   */
  lease?: { readonly detachedForMs: number } | undefined;
}

/** What a new sandbox is to be. */
export interface SandboxOptions extends SandboxStoreOptions {
  /** The directory to isolate. A relative path is resolved at the call, by the working directory. */
  resource: Path;
  /**
   * `copy_on_write` by default. A `git_worktree` shares the resource's `.git`, configuration and hooks included, with what runs in it; a
   * change of those is a warning of the logger (S4).
   */
  strategy?: Strategy | undefined;
  /** The plan that it belongs to: 1 to 200 bytes. */
  planId?: string | undefined;
  /**
   * For `copy_on_write`: how to copy. `auto` (default) takes the best that can be had, anything else is what you get or
   * `UNSUPPORTED_FILESYSTEM` (S5). `btrfs` needs a resource that is a subvolume.
   */
  mechanism?: 'auto' | 'reflink' | 'btrfs' | 'copy' | undefined;
  /**
   * The directory in which to make it, outside the resource and the store, where nobody else can replace what you made: one of yours, or one
   * like `/tmp`. What is made in it is private to you. By default one beside the store, or one on the resource's file system where only that
   * one lets files share their blocks.
   */
  location?: Path | undefined;
  /** For `git_worktree`: ignored or untracked paths, relative to the resource, to carry in; they are never committed back (S8). */
  seed?: readonly Path[] | undefined;
  /** For `git_worktree`: begin with the resource's uncommitted state instead of its commit. */
  carryChanges?: boolean | undefined;
  /**
   * Who keeps the sandbox from counting as abandoned (S9). By default this process, until it cleans it up or ends; `detachedForMs` keeps
   * it for so long whoever lives.
   */
  lease?: { readonly detachedForMs: number } | undefined;
  /** Refuse a tree of more files, as `TOO_BROAD`. */
  maxFiles?: number | undefined;
}

/** How to commit (S6, S7). */
export interface CommitOptions extends Long {
  /**
   * What happens to paths that both the sandbox and the resource changed: nothing at all is written and they are listed (`fail`, the
   * default), the sandbox's state is taken (`ours`), or the resource's stays (`theirs`): then the
   * sandbox's is still unsaved work there, save that `git_worktree` has it on the sandbox's branch.
   */
  onConflict?: OnConflict | undefined;
  /** For `git_worktree`: into the branch that is checked out, with its files (`merge`, the default), or to the sandbox's branch alone. */
  merge?: 'merge' | 'branch' | undefined;
  /** Merge texts whose changed lines do not meet. By default `git_worktree` does, as git itself, and `copy_on_write` does not. */
  textMerge?: boolean | undefined;
  /** For `git_worktree`: the commit's message. */
  message?: string | undefined;
  /** For `copy_on_write`: do not hold back what lies in a `.git`, provided that the resource's is as it was. */
  allowGit?: boolean | undefined;
  /** Do not hold back files that make the host run something later: `.vscode`, `.claude`, `.envrc`, `.husky`, shell start-up files. */
  allowTrusted?: boolean | undefined;
}

/** What a commit did: deeply frozen. */
export interface CommitReport {
  /** Whether everything that is not held back is in the resource (or on the branch) now; `false` when conflicts kept it from being. */
  readonly committed: boolean;
  /** What was committed. */
  readonly changes: readonly Change[];
  /** Paths that both sides changed: `ours` says what the sandbox did, `theirs` what the resource has. */
  readonly conflicts: readonly Conflict[];
  /** What was not committed, with the reason, for example `git_metadata`, `trusted`, `ignored`, `set_id`. It counts as unsaved work, save
   * for sockets and devices (`special`), of which nothing can be kept. */
  readonly heldBack: readonly Uncovered[];
  /** The checkpoint of the resource from right before, of phase `pre_apply`; not there when nothing was written to it. */
  readonly preApplyCheckpointId?: string;
  /** For `git_worktree`: the sandbox's branch. */
  readonly branch?: string;
  /** For `git_worktree`: the commit that the changes are in; after a merge the one that the resource is at. */
  readonly commit?: string;
}

/** What stays of sandboxes that are gone, because nothing else holds it (S10). */
export interface Remains {
  /** What lies beside a sandbox's root (made there with `../`): no checkpoint holds it, and it was left where it is. */
  readonly paths: readonly string[];
  /**
   * Refs of the resource's repository that lead to commits which no other ref does: the sandbox's branch, and under
   * `refs/turnback/saved/` what only its worktree's HEAD, log or index knew.
   */
  readonly refs: readonly string[];
  /** Repositories that moved or cannot be read: the sandbox's branch and worktree are still registered there. */
  readonly repositories: readonly string[];
}

/** What a cleanup did. */
export interface CleanupReport {
  /** The pinned checkpoint that holds what was unsaved: `export` it, or roll back to it `into` another directory (S10). */
  readonly savedCheckpointId?: string;
  /** What was left; not there when nothing was. */
  readonly remains?: Remains;
}

/**
 * A directory to work in, isolated from its resource until it is committed (S4).
 *
 * Calls on one sandbox run one after the other, in the order in which they were made; a second commit while one is under way is
 * refused with `BUSY`. Other processes that use the same sandbox wait ten seconds for a call of this one, then they fail with `BUSY`.
 *
 * Every call rejects with a `TurnbackError`: `ILLEGAL_TRANSITION` where the sandbox's status does not allow it (`details.from`, `to`,
 * `allowed`), `NOT_FOUND` when a directory is gone, `BUSY`, `ABORTED`, `POISONED` once its manager is closed, and the codes that each
 * one names.
 */
export interface Sandbox extends AsyncDisposable {
  /** Unique in its store. */
  readonly id: string;
  /** The `sandboxId` of its checkpoints: its own id, save for `none`, whose checkpoints are those of the resource. */
  readonly checkpointsId: string;
  /** The directory that it isolates: absolute and canonical. */
  readonly resource: string;
  readonly strategy: Strategy;
  readonly mechanism: Mechanism;
  /** As the last call on this object found it. */
  readonly status: SandboxStatus;
  readonly planId?: string;
  /** Where to work; reading it changes nothing. Escaped where it is not valid UTF-8. */
  readonly path: string;
  /** The path itself, only where it is not valid UTF-8. */
  readonly pathBytes?: Uint8Array;
  /** Every directory that must be writable to work in it. */
  readonly writablePaths: readonly string[];
  /** The path; a sandbox that was not in use becomes `ACTIVE` (S2). */
  enter(): Promise<string>;
  /** Whether a path is inside, with every link followed; it need not exist (S9). */
  contains(path: Path): boolean;
  /**
   * What differs from the baseline; changes nothing.
   *
   * @throws TurnbackError `NOT_UNDOABLE` for `none`, which has no baseline
   */
  changes(options?: Long): Promise<readonly Change[]>;
  /**
   * Brings the changes into the resource, all of them or none (S6, S7). Conflicts do not reject: they are in the report.
   *
   * @throws TurnbackError `CONFLICT` when somebody writes to the resource at the same time, `BUSY` also when another commit is under
   *   way, `WORKSPACE_REPLACED`, `GIT_UNSUPPORTED`, `DISK_FULL`. With `details.pending` files were written, and the next call on the
   *   sandbox finishes it
   */
  commit(options?: CommitOptions): Promise<CommitReport>;
  /**
   * Takes the last commit back: its paths in the resource become what they were, and later edits elsewhere stay (S3). The sandbox keeps
   * its files, which count as uncommitted again. With conflicts nothing is written.
   *
   * @throws TurnbackError `NOT_UNDOABLE` without such a commit
   */
  undoCommit(options?: Long): Promise<RollbackReport>;
  /**
   * Puts the sandbox back to its baseline (S12). For `git_worktree` that is HEAD, branch and index as well; what was committed there gets
   * refs beneath `refs/turnback/saved`. Taking the rollback back (`undoCheckpointId`) brings the files alone.
   *
   * @throws TurnbackError `NOT_UNDOABLE` for `none`: roll back to a checkpoint instead
   */
  rollback(options?: Long): Promise<RollbackReport>;
  /**
   * Removes the sandbox. With work that was not committed it refuses, or with `force` first stores a checkpoint of it (S10). What lies
   * beside the root is work as well, and is never removed.
   *
   * @throws TurnbackError `UNSAVED_WORK` (`details.changes`, the first `details.paths`)
   */
  cleanup(options?: { force?: boolean | undefined } & Long): Promise<CleanupReport>;
  /** Cleans up without `force`: rejects with `UNSAVED_WORK` and leaves the sandbox as it is when it holds work that was not committed. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** A sandbox as its store knows it. */
export interface SandboxInfo {
  readonly id: string;
  readonly resource: string;
  readonly path: string;
  readonly strategy: Strategy;
  readonly mechanism: Mechanism;
  readonly status: SandboxStatus;
  readonly planId?: string;
  /** Who keeps it: this process, another one that lives, nobody for as long as its lease runs, or nobody any more. */
  readonly owner: SandboxOwner;
  /** The end of its lease; not there where only a process keeps it. */
  readonly detachedUntil?: Date;
  /** Whether it holds anything that is nowhere else; `unknown` while a call works on it, or when that cannot be told. */
  readonly unsaved: boolean | 'unknown';
  /** Why something is not known. */
  readonly problem?: string;
}

/** Who keeps a sandbox (S9). */
export type SandboxOwner = 'this_process' | 'alive' | 'detached' | 'orphan';

/** A sandbox whose record cannot be read. */
export interface DamagedSandbox {
  readonly id: string;
  readonly owner: SandboxOwner;
  readonly reason: string;
}

/** What became of the sandboxes that nobody keeps. */
export interface AbandonedReport {
  readonly removed: readonly string[];
  /** Those that stay, because they hold unsaved work or nobody can tell. */
  readonly kept: readonly { readonly id: string; readonly reason: string }[];
  /** What was left of those that are gone; not there when nothing was. */
  readonly remains?: Remains;
}
