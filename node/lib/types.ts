/** What the checkpoint functions take and give. Units stand in the names; paths are text, with the bytes beside it where text would lie. */
import type { Logger } from './log.js';
import type { LogLevel } from './native-events.js';
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

/** What long calls take that may be given a deadline. */
export interface Bounded extends Long {
  /** The longest time that it may take, in milliseconds; it then rejects with `TIMED_OUT`. */
  deadlineMs?: number | undefined;
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
  /** Why label and pin cannot be read, when they cannot. It counts as pinned until `pin` or `label` writes them anew. */
  readonly marksDamaged?: string;
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

/** A path that two sides changed (C15). */
export interface Conflict {
  /** Relative to the workspace. Escaped where it is not valid UTF-8. */
  readonly path: string;
  /** The path itself, only where it is not valid UTF-8. */
  readonly pathBytes?: Uint8Array;
  /** What is there now, in words: for example `a file of 12 bytes`, `nothing`. */
  readonly ours: string;
  /** What was to come back, in words. */
  readonly theirs: string;
}

/** What a rollback, an undo or a revert did, or with `dryRun` would do (C8, C15). */
export interface RollbackReport {
  /**
   * Whether the tree now equals the checkpoint in everything that was in scope; for a revert, whether everything that was asked for
   * was taken back. `false` for a dry run.
   */
  readonly restored: boolean;
  /** The checkpoint that was restored; for a revert, `from`. */
  readonly checkpointId: string;
  /** The checkpoint that brings back the state before: pass it to `undo`. */
  readonly undoCheckpointId?: string;
  /** Paths written. */
  readonly written: number;
  /** Paths deleted. */
  readonly deleted: number;
  /**
   * Directories of which nothing but the modification time goes back, as when a name was made there and removed again. They are neither
   * among `actions` nor counted in `written`, and {@link CheckpointManager.diff} does not list them either.
   */
  readonly restamped: number;
  /** The workspace was gone and was made anew. */
  readonly rootRecreated: boolean;
  /** With `git: 'keep'`: a HEAD differs from the checkpoint's and was left alone. */
  readonly headMoved: boolean;
  /** Paths that were changed again since: a revert can have some, a rollback is exact and has none. */
  readonly conflicts: readonly Conflict[];
  /** Left alone on purpose, with the reason. */
  readonly kept: readonly Uncovered[];
  /** Could not be brought back, with the reason. */
  readonly notRestorable: readonly Uncovered[];
  /** Path by path, as differences that are taken back. */
  readonly actions: readonly Change[];
  /**
   * Whether a journal was kept, so that an interruption could have been taken up again. `false` when there was nothing to do, for a dry
   * run, and with `safety: false` when there was no room for one.
   */
  readonly journaled: boolean;
  /** An interrupted restore of this workspace that was finished first. */
  readonly recovered?: RecoveryReport;
  /** The paths that it was limited to; an undo has those of the rollback that it takes back. Not there when it was about everything. */
  readonly paths?: readonly { readonly path: string; readonly pathBytes?: Uint8Array }[];
  readonly durationMs: number;
}

/** What a prune did, or with `dryRun` would do. */
export interface PruneReport {
  /** What went, in the order in which it went. */
  readonly deleted: readonly string[];
  /** What stays, oldest first. The id of a damaged one is the name of its directory. */
  readonly kept: readonly { readonly checkpointId: string; readonly reason: KeepReason }[];
  /** Bytes that the disk got back; in a dry run about what it would get. */
  readonly freedBytes: number;
  /** Bytes that the store holds now; in a dry run about what it would hold. */
  readonly storeBytes: number;
  /** Whether the store holds no more than `maxBytes`, or would; `true` when that was not asked for. */
  readonly targetReached: boolean;
  /** Whether the rules take every checkpoint that is not pinned: a real run then needs `all: true`. */
  readonly takesAll: boolean;
}

/**
 * Why a checkpoint stays: it is pinned; an interrupted restore needs it; it is among the last ones of its workspace; it is young enough;
 * somebody made it or gave it a label; it is the newest of its workspace; the store is small enough; it is damaged, so that only
 * `deleteCheckpoint` takes it; nobody can read whether it is pinned, so that it counts as pinned.
 */
export type KeepReason =
  | 'pinned'
  | 'needed_by_rollback'
  | 'keep_last'
  | 'keep_within'
  | 'asked_for'
  | 'newest'
  | 'fits'
  | 'damaged'
  | 'marks_damaged';

/** A checkpoint whose record cannot be read. */
export interface DamagedCheckpoint {
  /** The name of its directory. */
  readonly checkpointId: string;
  readonly reason: string;
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
  /** Bytes on the disk. */
  readonly storeBytes: number;
  /** The cap of this manager, which the store never passes through it (C16). */
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
  /**
   * The most bytes that the store may ever hold (C16): by default the smaller of 20 GiB and a fifth of its disk. It holds for what this
   * manager writes, and is not remembered in the store.
   */
  maxBytes?: number | undefined;
  /**
   * When something does not fit: the oldest automatic checkpoints (`pre_batch`, `pre_rollback`, without pin and label) go until it does
   * (`prune`, the default), or it fails with `STORE_FULL`.
   */
  onFull?: 'prune' | 'fail' | undefined;
  /** Where to log; silent by default. */
  logger?: Logger | undefined;
  /**
   * Which of the engine's own events the logger hears: those of this level and the more important ones. Default: `'warn'`. They come in
   * batches; of more than a thousand at once the last are dropped, and counted. Those of `'trace'` come as `debug`.
   */
  logLevel?: LogLevel | undefined;
}

/** How to take a checkpoint. */
export interface CreateOptions extends Bounded {
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
export interface RollbackOptions extends Bounded {
  /** Only say what would be done. */
  dryRun?: boolean | undefined;
  /** Only these paths, relative to the workspace. */
  paths?: readonly Path[] | undefined;
  /** Restore into this directory instead of the workspace. */
  into?: Path | undefined;
  /**
   * `keep` puts back what is missing inside every `.git` and overwrites nothing there; `exact` restores it too (C7). By default a sandbox's
   * own directory is restored exactly, and in any other one what is there is kept.
   */
  git?: 'keep' | 'exact' | undefined;
  /** Go on when the workspace's root is another directory than the one that was checkpointed (C5). */
  allowReplacedRoot?: boolean | undefined;
  /** Take a checkpoint of the present state first (default), so that the rollback can be undone. */
  safety?: boolean | undefined;
}

/** What happens with a path that both sides changed: nothing is written, what is there stays, or what comes in wins. */
export type OnConflict = 'fail' | 'ours' | 'theirs';

/** How to take changes back (C15). */
export interface RevertOptions extends Bounded {
  /**
   * What happens when a path was changed again since: nothing is written and the conflicts are listed (`fail`, the default); what is
   * there now stays (`ours`); what was before comes back (`theirs`).
   */
  onConflict?: OnConflict | undefined;
  /** Only say what would be done. */
  dryRun?: boolean | undefined;
  /** Only these paths, relative to the workspace, and what lies beneath them. */
  paths?: readonly Path[] | undefined;
  /**
   * `keep` puts back what is missing inside every `.git` and overwrites nothing there; `exact` takes changes back there too (C7). By default
   * `exact` in a sandbox's own directory, `keep` in any other one.
   */
  git?: 'keep' | 'exact' | undefined;
  /** Go on when the workspace's root is another directory than the one that was checkpointed (C5). */
  allowReplacedRoot?: boolean | undefined;
  /** Take a checkpoint of the present state first (default), so that the revert can be undone. */
  safety?: boolean | undefined;
}

/** What writes to a workspace. */
export type RestoreKind = 'rollback' | 'undo' | 'revert' | 'commit';

/** What an interrupted restore was doing. */
export interface Begun {
  readonly kind: RestoreKind;
  /** The checkpoints that it restores from. */
  readonly targets: readonly string[];
  /** The checkpoint that brings back the state before it: pass it to `undo`. */
  readonly undoCheckpointId?: string;
  /** A new `Date` at each reading. */
  readonly startedAt: Date;
  /** The paths that it was limited to. Not there when it was about everything. */
  readonly paths?: readonly { readonly path: string; readonly pathBytes?: Uint8Array }[];
}

/** An interrupted restore that waits (C8): the next call that writes to its workspace finishes it. */
export interface PendingRestore {
  readonly sandboxId: string;
  /** Not there when the journal is damaged and no checkpoint is there that would tell. */
  readonly workspace?: string;
  /** Not there when the journal is damaged. */
  readonly begun?: Begun;
  /** Why the journal cannot be read, when it cannot. */
  readonly damaged?: string;
}

/** What became of an interrupted restore. */
export interface RecoveryReport {
  readonly sandboxId: string;
  readonly workspace: string;
  /**
   * It was carried out to its end; or nothing was touched because the root is gone, another directory is in its place, or the journal
   * is damaged; or it was given up by `abandon`.
   */
  readonly outcome: 'finished' | 'root_missing' | 'root_replaced' | 'damaged' | 'abandoned';
  /** Where a damaged journal is kept. */
  readonly journalPath?: string;
  /** What is wrong with it. */
  readonly reason?: string;
  /** Not there when the journal is damaged. */
  readonly begun?: Begun;
  /** Paths written now. */
  readonly written: number;
  /** Paths deleted now. */
  readonly deleted: number;
  /** Left alone, those that somebody changed meanwhile among them. */
  readonly kept: readonly Uncovered[];
  /** Could not be brought to the state that was begun. */
  readonly notRestorable: readonly Uncovered[];
  /** What was still to be done when it was taken up, or given up, again. */
  readonly actions: readonly Change[];
}

/** The record of a checkpoint that was made just now. */
export interface CreatedCheckpoint extends SandboxCheckpoint {
  /** An interrupted restore of this workspace that was finished first: the checkpoint shows what is there after it. */
  readonly recovered?: RecoveryReport;
}

/** Which checkpoints stay (C9). With none of the three rules it is the default retention of automatic checkpoints that is applied. */
export interface PruneRules {
  /** The last ones of each workspace stay, of whatever phase. */
  keepLast?: number | undefined;
  /** What is not older than this stays. */
  keepWithinMs?: number | undefined;
  /** Then, while the store holds more than this, the oldest of what is left go as well, whatever the other two rules say. */
  maxBytes?: number | undefined;
  /** The rules may take every checkpoint that is not pinned. Without it they are refused where they would. */
  all?: boolean | undefined;
  /** Only say what would go. */
  dryRun?: boolean | undefined;
}
