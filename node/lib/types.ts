/** What the checkpoint functions take and give. Units stand in the names; paths are text, with the bytes beside it where text would lie. */
import type { Logger } from './log.js';
import type { Path } from './paths.js';

/** When, in the course of a plan, a checkpoint was made (C2). */
export type Phase = 'pre_execute' | 'post_execute' | 'pre_apply' | 'pre_batch' | 'pre_rollback' | 'manual';

/** How far a long call has come. */
export interface Progress {
  /** The step, for example `scan`, `stage` or `apply`. */
  readonly phase: string;
  /** Paths handled in this step. */
  readonly done: number;
  /** Paths to handle, where known. */
  readonly total?: number;
  /** Bytes read or written in this step. */
  readonly bytes: number;
}

/** What every long call takes. */
export interface Long {
  /** Ends the call: it rejects at once with `ABORTED` and `signal.reason` as its cause; its work ends at its next system call (C12). */
  signal?: AbortSignal | undefined;
  /** Hears of progress. May call the manager again; does not keep the process alive. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** A path that is not covered, kept or restorable, with the reason (C6). */
export interface Uncovered {
  /** Relative to the workspace. Escaped where it is not valid UTF-8. */
  readonly path: string;
  /** The path itself, only where it is not valid UTF-8. */
  readonly pathBytes?: Uint8Array;
  /** In lower snake case, for example `socket`, `unreadable`, `too_large`, `git_metadata`. */
  readonly reason: string;
  /** More than the reason, where there is more to say. */
  readonly detail?: string;
}

/** How much of a workspace a checkpoint holds. */
export interface Coverage {
  /** Paths of every kind that are stored, the workspace itself among them. */
  readonly files: number;
  /** The bytes of the files among them. */
  readonly bytes: number;
  /** Whether everything that was asked for is stored. */
  readonly complete: boolean;
  /** Files that changed while they were read. */
  readonly changing: number;
  /** How many paths are not covered. */
  readonly uncoveredCount: number;
  /** The first of them, at most 100; `coverage(id)` gives all. */
  readonly uncovered: readonly Uncovered[];
}

/** A checkpoint's record: deeply frozen (C1). */
export interface SandboxCheckpoint {
  /** A ULID. */
  readonly checkpointId: string;
  /** The sandbox's id; for a plain directory, the stable id of that workspace. */
  readonly sandboxId: string;
  readonly planId: string;
  readonly phase: Phase;
  /** A new `Date` at each reading, so that the record cannot be changed through it. */
  readonly createdAt: Date;
  readonly metadata: Readonly<Record<string, string>>;
  /** The checkpoint's own directory in the store. Not a copy of the workspace: `export` makes one. */
  readonly snapshotPath: string;
  /** The directory that was checkpointed, and that a rollback restores (C5). */
  readonly workspace: string;
  readonly coverage: Coverage;
}

/** A record with what lies beside it. */
export interface ListedCheckpoint extends SandboxCheckpoint {
  readonly label?: string;
  readonly pinned: boolean;
  /** Bytes that this checkpoint stored. */
  readonly bytes: number;
}

/** A path that differs. */
export interface Change {
  /** Relative to the workspace; empty for the workspace itself. Escaped where it is not valid UTF-8. */
  readonly path: string;
  /** The path itself, only where it is not valid UTF-8. */
  readonly pathBytes?: Uint8Array;
  readonly kind: 'added' | 'deleted' | 'modified' | 'type_changed' | 'metadata';
  /** For a file, its length afterwards (before, if it was deleted). */
  readonly bytes?: number;
}

/** A path that two sides changed. */
export interface Conflict {
  readonly path: string;
  readonly pathBytes?: Uint8Array;
  readonly ours: string;
  readonly theirs: string;
}

/** What a rollback did, or with `dryRun` would do (C8). */
export interface RollbackReport {
  /** Whether the tree now equals the checkpoint in everything that was in scope. */
  readonly restored: boolean;
  /** The checkpoint that was restored. */
  readonly checkpointId: string;
  /** The checkpoint that brings back the state before: pass it to `undo`. */
  readonly undoCheckpointId?: string;
  /** Paths written. */
  readonly written: number;
  /** Paths deleted. */
  readonly deleted: number;
  /** The workspace was gone and was made anew. */
  readonly rootRecreated: boolean;
  /** With `git: 'keep'`: a HEAD differs from the checkpoint's and was left alone. */
  readonly headMoved: boolean;
  /** Always empty: a rollback is exact. `revert` is what can conflict. */
  readonly conflicts: readonly Conflict[];
  /** Left alone on purpose, with the reason. */
  readonly kept: readonly Uncovered[];
  /** Could not be brought back, with the reason. */
  readonly notRestorable: readonly Uncovered[];
  /** Path by path, as differences that the rollback takes back. */
  readonly actions: readonly Change[];
  readonly durationMs: number;
}

/** What a verification found. */
export interface VerifyReport {
  /** Checkpoints checked. */
  readonly checked: number;
  readonly ok: boolean;
  readonly damaged: readonly { readonly checkpointId: string; readonly path?: string; readonly reason: string }[];
}

/** What the store holds. */
export interface UsageReport {
  readonly storeBytes: number;
  /** What the store could grow to: its cap, or while it has none what it holds and the free space of its file system. */
  readonly maxBytes: number;
  readonly checkpoints: readonly { readonly checkpointId: string; readonly freedByDeleteBytes: number }[];
}

/** How to open a store. */
export interface OpenOptions {
  /**
   * The store's directory, or `'ephemeral'` for a temporary one that goes with the manager. By default
   * `$TURNBACK_STORE`, else `$XDG_STATE_HOME/turnback`, else `~/.local/state/turnback` (C11).
   */
  store?: Path | undefined;
  /** What an acknowledged checkpoint survives: a power cut (default), or only the end of the process (default for `'ephemeral'`). */
  durability?: 'power' | 'process' | undefined;
  /** Trust no timestamp: read every file at every checkpoint. */
  strict?: boolean | undefined;
  /** Where to log; silent by default. */
  logger?: Logger | undefined;
}

/** How to take a checkpoint. */
export interface CreateOptions extends Long {
  /** The longest time that it may take; it then rejects with `TIMED_OUT` and leaves nothing behind (C12). */
  deadlineMs?: number | undefined;
  /** At most 200 bytes, no control characters. */
  label?: string | undefined;
  /** Paths to leave out, in gitignore syntax, relative to the workspace. */
  exclude?: readonly string[] | undefined;
  /** Leave out what git ignores. */
  excludeIgnored?: boolean | undefined;
  /** Leave out files over this length. */
  maxFileBytes?: number | undefined;
  /** Refuse a tree of more files, as `TOO_BROAD`. */
  maxFiles?: number | undefined;
  /** Take a home directory, a temporary root or `/` all the same (C16). */
  allowBroad?: boolean | undefined;
}

/** How to roll back. */
export interface RollbackOptions extends Long {
  /** Only say what would be done. */
  dryRun?: boolean | undefined;
  /** Only these paths, relative to the workspace. */
  paths?: readonly Path[] | undefined;
  /** Restore into this directory instead of the workspace. */
  into?: Path | undefined;
  /** `keep` (default) puts back what is missing inside every `.git` and overwrites nothing there; `exact` restores it too (C7). */
  git?: 'keep' | 'exact' | undefined;
  /** Go on when the workspace's root is another directory than the one that was checkpointed (C5). */
  allowReplacedRoot?: boolean | undefined;
  /** Take a checkpoint of the present state first (default), so that the rollback can be undone. */
  safety?: boolean | undefined;
  /** The longest time that it may take. */
  deadlineMs?: number | undefined;
}
