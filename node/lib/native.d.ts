// Generated from node/src by `npm run types -w turnback`. Do not edit.

/** What a long call listens to and reports to. */
export interface Control {
  /** The longest time that the call may take, in milliseconds from now. */
  deadlineMs?: number
  /** Hears of progress. Never keeps the process alive. */
  onProgress?: (event: ProgressEvent) => void
}

/** A field of an event. */
export interface EventField {
  /** Its name. */
  name: string
  /** Its value as text. */
  value: string
}

/** A queue of events, and whoever is told when it is no longer empty. */
export declare class EventQueue {
  /**
   * A queue for events of a level and the more important ones. `wake` is called once for each batch, never keeps the process alive, and
   * is to take what there is.
   */
  constructor(level: string, wake: () => void)
  /** The events since the last time. */
  take(): NativeEvents
}

/** A failed call. Its first field tells it from every successful answer. */
export interface Failure {
  /** The stable code, for example `NOT_FOUND`. */
  failureCode: string
  /** One line: what was tried, the cause, what to do next. */
  message: string
  /** What to do next. */
  advice: string
  /** Whether the same call may succeed later. */
  retryable: boolean
  /** The path concerned. */
  path?: PathText
  /** More for programs, by name: for example the id of a checkpoint that helps. */
  details: Record<string, string>
  /** The chain of causes, outermost first. */
  causes: Array<string>
}

/** A gate: when a checkpoint is due, who waits for it, and for how long. */
export declare class Gate {
  /** A gate that remembers nothing. What is not given is as the core has it: 10 s, the prefix `turnback`, a key of zeros. */
  constructor(timeoutMs?: number | undefined | null, prefix?: string | undefined | null, digestKey?: Uint8Array | undefined | null)
  /** What happened at `nowMs` goes in, what to do comes out, both as JSON. */
  handle(input: string, nowMs: number): string | Failure
  /**
   * The way of a batch whose turn is covered already, without JSON: `0` plus 1 if the checkpoint is late plus 2 if it is
   * partial, then its id if the gate has it. `null`: nothing changed, and `handle` has the answer.
   */
  passCovered(sandboxId: string, turnId: string, nowMs: number): string | null
}

/** How far a call that is given up has written to a workspace. */
export interface GivenUp {
  /** `nothing`, `journal`, `begun`, `begun_without_journal`, `ending` or `done`. */
  step: string
  /** The checkpoint that brings back the state before. */
  undoCheckpointId?: string
  /** How an interrupted restore ended that was in the way. */
  recovered?: string
}

/** What became of the abandoned sandboxes. */
export interface NativeAbandonedReport {
  /** Those that are gone. */
  removed: Array<string>
  /** Those that stay. */
  kept: Array<NativeKeptSandbox>
  /** What was left of those that are gone. */
  remains: NativeRemains
}

/** What an interrupted restore was doing. */
export interface NativeBegun {
  /** What kind of work, in lower snake case. */
  kind: string
  /** The checkpoints that it restores from. */
  targets: Array<string>
  /** The checkpoint that brings back the state before. */
  undoCheckpointId?: string
  /** When it was begun, in milliseconds since the Unix epoch. */
  startedAtMs: number
  /** The paths that it is limited to. */
  paths?: Array<PathText>
}

/** A path that differs. */
export interface NativeChange {
  /** The path, relative to the workspace. */
  path: PathText
  /** How it differs, in lower snake case. */
  kind: string
  /** The file's length. */
  bytes?: number
}

/** A checkpoint's record. */
export interface NativeCheckpoint {
  /** The checkpoint's id. */
  checkpointId: string
  /** The id of the sandbox or workspace. */
  sandboxId: string
  /** The plan's id. */
  planId: string
  /** The phase, in lower snake case. */
  phase: string
  /** Milliseconds since the Unix epoch. */
  createdAtMs: number
  /** The caller's metadata. */
  metadata: Array<NativePair>
  /** The checkpoint's own directory in the store. */
  snapshotPath: PathText
  /** The directory that was checkpointed. */
  workspace: PathText
  /** What is covered. */
  coverage: NativeCoverage
}

/** The bytes that deleting one checkpoint would free. */
export interface NativeCheckpointUsage {
  /** The checkpoint's id. */
  checkpointId: string
  /** Bytes freed by its deletion. */
  freedByDeleteBytes: number
}

/** What a cleanup did. */
export interface NativeCleanupReport {
  /** The checkpoint that holds what was unsaved. */
  savedCheckpointId?: string
  /** What was left. */
  remains: NativeRemains
}

/** What a comment says. */
export interface NativeComment {
  /** Who made the checkpoint. */
  prefix: string
  /** The turn that it was made for. */
  turnId: string
}

/** What a commit did. */
export interface NativeCommitReport {
  /** Whether everything that is not held back is where it belongs. */
  committed: boolean
  /** What was committed. */
  changes: Array<NativeChange>
  /** Changed on both sides. */
  conflicts: Array<NativeConflict>
  /** Held back, with the reason. */
  heldBack: Array<NativeUncovered>
  /** The checkpoint of the resource from before. */
  preApplyCheckpointId?: string
  /** The worktree's branch. */
  branch?: string
  /** The commit with the changes. */
  commit?: string
}

/** How to commit. */
export interface NativeCommitRequest {
  /** What happens to paths that both sides changed: `fail`, `ours` or `theirs`. */
  onConflict: string
  /** For a worktree: to its own branch alone. */
  branchOnly: boolean
  /** Merge texts whose changed lines do not meet. */
  textMerge?: boolean
  /** For a worktree: the commit's message. */
  message?: string
  /** Do not hold back what lies in a `.git`. */
  allowGit: boolean
  /** Do not hold back what makes the host run something later. */
  allowTrusted: boolean
}

/** A path that two sides changed. */
export interface NativeConflict {
  /** The path, relative to the workspace. */
  path: PathText
  /** What is there now, in words. */
  ours: string
  /** What was to come back, in words. */
  theirs: string
}

/** How the files of a sandbox came about. */
export interface NativeCopied {
  /** Files that share their blocks with the resource's. */
  sharedFiles: number
  /** Files whose bytes were copied. */
  copiedFiles: number
  /** Of those, the ones that the file system would not share. */
  refusedFiles: number
  /** Absolute links that lead back into the resource. */
  absoluteLinks: number
}

/** How much of a workspace a checkpoint holds. */
export interface NativeCoverage {
  /** Paths of every kind that are stored, the root among them. */
  files: number
  /** The bytes of the files among them. */
  bytes: number
  /** Whether everything that was asked for is stored. */
  complete: boolean
  /** Files that changed while they were read. */
  changing: number
  /** How many paths are not covered. */
  uncoveredCount: number
  /** The first of them, at most 100. */
  uncovered: Array<NativeUncovered>
}

/** What to checkpoint and how. */
export interface NativeCreateRequest {
  /** The directory, absolute. */
  directory: Uint8Array
  /** The plan's id. */
  planId: string
  /** The phase, in lower snake case. */
  phase: string
  /** The caller's metadata. */
  metadata: Array<NativePair>
  /** A label. */
  label?: string
  /** Paths to leave out, in gitignore syntax. */
  exclude: Array<string>
  /** Leave out what git ignores. */
  excludeIgnored: boolean
  /** Leave out files over this length, in bytes. */
  maxFileBytes?: number
  /** Refuse a tree of more files. */
  maxFiles?: number
  /** Take a workspace that is too broad. */
  allowBroad: boolean
  /** The directory is a sandbox's own path: a link in its place is not followed. */
  recorded: boolean
}

/** A checkpoint that was made just now. */
export interface NativeCreated {
  /** Its record. */
  checkpoint: NativeCheckpoint
  /** An interrupted restore of the workspace that was finished first. */
  recovered?: NativeRecoveryReport
}

/** Something damaged in the store. */
export interface NativeDamaged {
  /** The name of the checkpoint's directory. */
  checkpointId: string
  /** The damaged path, where one is known. */
  path?: PathText
  /** What is wrong. */
  reason: string
}

/** One event of the engine. */
export interface NativeEvent {
  /** `error`, `warn`, `info`, `debug` or `trace`. */
  level: string
  /** The module that it comes from. */
  target: string
  /** What happened. */
  message: string
  /** Names and values, in the order in which they were given. */
  fields: Array<EventField>
}

/** The events that waited. */
export interface NativeEvents {
  /** In the order in which they happened, as far as threads have one. */
  events: Array<NativeEvent>
  /** How many more there were. */
  dropped: number
}

/** One thing that was looked at. */
export interface NativeFinding {
  /** What was looked at. */
  name: string
  /** Whether it is as it should be. */
  ok: boolean
  /** What was found, one sentence. */
  detail: string
}

/** Whether the guard makes checkpoints, and why. */
export interface NativeFlag {
  /** Whether checkpoints are on. */
  enabled: boolean
  /** What decided. */
  reason: string
  /** What was odd about the setting. */
  warning?: string
}

/** What there is to know of a worktree's repository. */
export interface NativeGitInfo {
  /** The worktree's branch. */
  branch: string
  /** How many files are pointers to content elsewhere. */
  lfsPointers: number
  /** The first of them. */
  lfsPaths: Array<PathText>
  /** How many submodules there are. */
  submodules: number
  /** The first of them. */
  submodulePaths: Array<PathText>
}

/** A checkpoint that stays. */
export interface NativeKept {
  /** The name of the checkpoint's directory. */
  checkpointId: string
  /** Why, in lower snake case. */
  reason: string
}

/** An abandoned sandbox that stays. */
export interface NativeKeptSandbox {
  /** Its id. */
  id: string
  /** Why. */
  reason: string
}

/** A checkpoint with what lies beside its record. */
export interface NativeListed {
  /** The record. */
  checkpoint: NativeCheckpoint
  /** The label, if there is one. */
  label?: string
  /** Whether it is kept from pruning. */
  pinned: boolean
  /** Why label and pin cannot be read. */
  marksDamaged?: string
  /** Bytes that this checkpoint stored. */
  bytes: number
}

/** The checkpoints of a store. */
export interface NativeListing {
  /** Oldest first. */
  checkpoints: Array<NativeListed>
  /** Those that cannot be read. */
  damaged: Array<NativeDamaged>
}

/** One open store. */
export declare class NativeManager {
  /** The store's directory. */
  get storePath(): PathText
  /** Takes a checkpoint, after an interrupted restore of the directory was finished. */
  create(request: NativeCreateRequest, ticket: Ticket, control: Control): Promise<NativeCreated | Failure>
  /** Lists checkpoints, oldest first. */
  list(sandbox?: string | undefined | null): Promise<NativeListing | Failure>
  /** The stable id of a plain directory. */
  sandboxIdOf(directory: Uint8Array): Promise<string | Failure>
  /** One checkpoint's record. */
  get(id: string): Promise<NativeCheckpoint | null | Failure>
  /** Deletes a checkpoint; `false` when there is none of that id. */
  delete(id: string): Promise<boolean | Failure>
  /** Deletes several checkpoints: all of them, or none when one of them cannot go. */
  deleteAll(ids: Array<string>): Promise<Array<string> | Failure>
  /** Every path that a checkpoint does not cover. */
  coverage(id: string): Promise<Array<NativeUncovered> | Failure>
  /** What differs between a checkpoint and another one, or the workspace now. */
  diff(from: string, to: string | undefined | null, ticket: Ticket, control: Control): Promise<Array<NativeChange> | Failure>
  /** A file's bytes as they were. */
  readFile(id: string, path: Uint8Array): Promise<Uint8Array | Failure>
  /** Writes a checkpoint into a directory as plain files. */
  export(id: string, directory: Uint8Array, ticket: Ticket, control: Control): Promise<undefined | Failure>
  /** Reads one checkpoint, or all of them, and compares with the checksums. */
  verify(id: string | undefined | null, ticket: Ticket, control: Control): Promise<NativeVerifyReport | Failure>
  /** What the store holds. */
  usage(): Promise<NativeUsageReport | Failure>
  /** Sets or removes a label. Answers `pin` when label and pin were damaged, so that it counts as pinned now. */
  setLabel(id: string, label?: string | undefined | null): Promise<string | null | Failure>
  /** Keeps a checkpoint from pruning, or no longer. Answers `label` when label and pin were damaged, so that it has no label now. */
  setPinned(id: string, pinned: boolean): Promise<string | null | Failure>
  /** Switches the guard's checkpoints off for the store. */
  pause(): Promise<undefined | Failure>
  /** Switches them on again. */
  resume(): Promise<undefined | Failure>
  /** Whether they are switched off. Looked at by a thread of the manager's: the store's file system may hang. */
  isPaused(): Promise<boolean | Failure>
  /** Closes the store; the sandboxes of an ephemeral one go with it. May be called again. */
  close(): Promise<undefined | Failure>
  /** Makes a sandbox. */
  createSandbox(request: NativeSandboxRequest, ticket: Ticket, control: Control): Promise<NativeSandbox | Failure>
  /** A sandbox that was made earlier. */
  attachSandbox(id: string, ticket: Ticket, control: Control): Promise<NativeSandbox | Failure>
  /** All sandboxes of the store. */
  listSandboxes(ticket: Ticket, control: Control): Promise<Array<NativeSandboxInfo> | Failure>
  /** Removes the sandboxes that nobody keeps and that hold nothing unsaved. */
  cleanupAbandoned(ticket: Ticket, control: Control): Promise<NativeAbandonedReport | Failure>
  /** What holds the sandboxes of plans. */
  sandboxManager(): NativeSandboxManager
  /** Restores a checkpoint. */
  rollback(id: string, request: NativeRollbackRequest, ticket: Ticket, control: Control): Promise<NativeRollbackReport | Failure>
  /** Takes a rollback back. */
  undo(id: string, ticket: Ticket, control: Control): Promise<NativeRollbackReport | Failure>
  /** Takes back what changed from one checkpoint to another, and keeps later edits. */
  revert(from: string, to: string, request: NativeRevertRequest, ticket: Ticket, control: Control): Promise<NativeRollbackReport | Failure>
  /** Finishes what was interrupted in a directory; `null` when nothing was. */
  recover(directory: Uint8Array, ticket: Ticket, control: Control): Promise<NativeRecoveryReport | null | Failure>
  /** Gives up what was interrupted in a directory; `null` when nothing was. */
  abandon(directory: Uint8Array, ticket: Ticket, control: Control): Promise<NativeRecoveryReport | null | Failure>
  /** What was interrupted and waits, in every workspace. */
  pending(): Promise<Array<NativePending> | Failure>
  /** Removes checkpoints by rules. */
  prune(request: NativePruneRequest, ticket: Ticket, control: Control): Promise<NativePruneReport | Failure>
}

/** How to open a store. */
export interface NativeOpenOptions {
  /** The store's directory; the user's own store by default. */
  store?: Uint8Array
  /** A store that goes with the manager. */
  ephemeral: boolean
  /** Survive a power cut (`true`) or only the end of the process; by default what suits the store. */
  powerDurability?: boolean
  /** Trust no timestamp. */
  strict: boolean
  /** The most bytes that the store may hold; by default what suits the disk. */
  maxBytes?: number
  /** Fail when something does not fit (`true`), or let old automatic checkpoints go. */
  failWhenFull: boolean
}

/** One entry of the metadata. Not a property of an object: a key may be `__proto__`. */
export interface NativePair {
  /** The key. */
  key: string
  /** The value. */
  value: string
}

/** An interrupted restore that waits. */
export interface NativePending {
  /** The workspace. */
  sandboxId: string
  /** Its directory, when the journal can be read. */
  workspace?: PathText
  /** What was begun, when the journal can be read. */
  begun?: NativeBegun
  /** Why the journal cannot be read. */
  damaged?: string
}

/** What a prune did, or would do. */
export interface NativePruneReport {
  /** What went, in the order in which it went. */
  deleted: Array<string>
  /** What stays, oldest first. */
  kept: Array<NativeKept>
  /** Bytes that the disk got back. */
  freedBytes: number
  /** Bytes that the store holds now, or would hold. */
  storeBytes: number
  /** Whether that is no more than was asked for. */
  targetReached: boolean
  /** Whether the rules take every checkpoint that is not pinned. */
  takesAll: boolean
}

/** By which rules checkpoints go. */
export interface NativePruneRequest {
  /** The last ones of each workspace stay. */
  keepLast?: number
  /** What is not older than so many milliseconds stays. */
  keepWithinMs?: number
  /** The store may hold so many bytes. */
  maxBytes?: number
  /** The rules may take every checkpoint that is not pinned. */
  all: boolean
  /** Only say what would go. */
  dryRun: boolean
}

/** What became of an interrupted restore. */
export interface NativeRecoveryReport {
  /** The workspace. */
  sandboxId: string
  /** Its directory. */
  workspace: PathText
  /** How it ended, in lower snake case. */
  outcome: string
  /** Where a damaged journal is kept. */
  journal?: PathText
  /** What is wrong with it. */
  reason?: string
  /** What had been begun. */
  begun?: NativeBegun
  /** Paths written now. */
  written: number
  /** Paths deleted now. */
  deleted: number
  /** Left alone. */
  kept: Array<NativeUncovered>
  /** Could not be brought to the state that was begun. */
  notRestorable: Array<NativeUncovered>
  /** What was still to be done. */
  actions: Array<NativeChange>
}

/** What stays of sandboxes that are gone. */
export interface NativeRemains {
  /** What lies beside their roots. */
  paths: Array<PathText>
  /** Refs of the repository. */
  refs: Array<string>
  /** Repositories that could not be reached. */
  repositories: Array<PathText>
}

/** Removals of checkpoints. */
export interface NativeRemovals {
  /** How many this process has removed so far. */
  count: number
  /** The last of them, the oldest first. */
  ids: Array<string>
  /** Ids up to this one may have been removed as well. */
  forgottenUpTo?: string
}

/** How to take changes back. */
export interface NativeRevertRequest {
  /** What happens to paths that were changed again since: `fail`, `ours` or `theirs`. */
  onConflict: string
  /** Only say what would be done. */
  dryRun: boolean
  /** Only these paths, relative to the workspace. */
  paths?: Array<Uint8Array>
  /** Take changes inside `.git` back too, or overwrite nothing there; by default what suits the workspace. */
  gitExact?: boolean
  /** Go on when the root was replaced. */
  allowReplacedRoot: boolean
  /** Take a checkpoint first. */
  safety: boolean
}

/** What a rollback did, or would do. */
export interface NativeRollbackReport {
  /** Whether the tree equals the checkpoint. */
  restored: boolean
  /** The checkpoint that was restored. */
  checkpointId: string
  /** The checkpoint that undoes it. */
  undoCheckpointId?: string
  /** Paths written. */
  written: number
  /** Paths deleted. */
  deleted: number
  /** Directories of which nothing but the modification time goes back. */
  restamped: number
  /** The root was missing and was created. */
  rootRecreated: boolean
  /** A HEAD differs and was left alone. */
  headMoved: boolean
  /** Changed on both sides. */
  conflicts: Array<NativeConflict>
  /** Left alone on purpose. */
  kept: Array<NativeUncovered>
  /** Could not be brought back. */
  notRestorable: Array<NativeUncovered>
  /** Path by path. */
  actions: Array<NativeChange>
  /** Whether a journal was kept. */
  journaled: boolean
  /** An interrupted restore that was finished first. */
  recovered?: NativeRecoveryReport
  /** The paths that it was limited to. */
  paths?: Array<PathText>
  /** How long it took, in milliseconds. */
  durationMs: number
}

/** How to roll back. */
export interface NativeRollbackRequest {
  /** Only say what would be done. */
  dryRun: boolean
  /** Only these paths, relative to the workspace. */
  paths?: Array<Uint8Array>
  /** Restore into this directory, absolute. */
  into?: Uint8Array
  /** Restore `.git` exactly too, or overwrite nothing there; by default what suits the workspace. */
  gitExact?: boolean
  /** Go on when the root was replaced. */
  allowReplacedRoot: boolean
  /** Take a checkpoint first. */
  safety: boolean
}

/** One sandbox, held by this process as long as this object lives. */
export declare class NativeSandbox {
  /** Its id. */
  get id(): string
  /** The id under which its checkpoints stand. */
  get checkpointsId(): string
  /** What it isolates. */
  get resource(): PathText
  /** Where to work. */
  get path(): PathText
  /** How it isolates. */
  get strategy(): string
  /** How a copy was made; nothing where none was. */
  get mechanism(): string | null
  /** Its plan. */
  get planId(): string | null
  /** Its status, as the last call on this object found it. */
  get status(): string
  /** What must be writable to work in it. */
  get writablePaths(): Array<PathText>
  /** The first absolute links that lead back into the resource. */
  get absoluteLinks(): Array<PathText>
  /** How its files came about. */
  get copied(): NativeCopied
  /** What there is to know of its repository. */
  get git(): NativeGitInfo | null
  /** Whether a path is inside, with every link followed. */
  contains(path: Uint8Array): boolean
  /** Looks at the status anew. */
  refresh(): Promise<undefined | Failure>
  /** The id of the checkpoint that it is compared with, or `null`. */
  baseline(): Promise<string | null | Failure>
  /** Makes it active, if it is not. */
  enter(): Promise<undefined | Failure>
  /** Keeps it for so many milliseconds from now on, whoever lives, and gives the end of that time in milliseconds since 1970. */
  keepFor(ms: number, ticket: Ticket, control: Control): Promise<number | Failure>
  /** What differs from the baseline. */
  changes(ticket: Ticket, control: Control): Promise<Array<NativeChange> | Failure>
  /** Brings the changes into the resource. */
  commit(request: NativeCommitRequest, ticket: Ticket, control: Control): Promise<NativeCommitReport | Failure>
  /** Takes the last commit back. */
  undoCommit(ticket: Ticket, control: Control): Promise<NativeRollbackReport | Failure>
  /** Puts it back to its baseline. */
  rollback(ticket: Ticket, control: Control): Promise<NativeRollbackReport | Failure>
  /** Removes it: which checkpoint holds what was unsaved, and what was left. */
  cleanup(force: boolean, ticket: Ticket, control: Control): Promise<NativeCleanupReport | Failure>
}

/** What a sandbox's record says. */
export interface NativeSandboxAbout {
  /** What it isolates. */
  resource: PathText
  /** Where to work. */
  path: PathText
  /** How it isolates. */
  strategy: string
  /** How a copy was made. */
  mechanism?: string
  /** Its status. */
  status: string
  /** Its plan. */
  planId?: string
  /** Until when it is kept whoever lives, in milliseconds since 1970. */
  detachedUntilMs?: number
}

/** A sandbox as it stands in the registry. */
export interface NativeSandboxInfo {
  /** Its id. */
  id: string
  /** What its record says; nothing when that is damaged. */
  about?: NativeSandboxAbout
  /** Who keeps it, in lower snake case. */
  owner: string
  /** Whether it holds unsaved work; nothing when that is not known. */
  unsaved?: boolean
  /** Why something is not known. */
  problem?: string
}

/** The sandboxes of plans. */
export declare class NativeSandboxManager {
  /** A plan's sandbox of a resource. */
  getOrCreate(plan: string, request: NativeSandboxRequest, ticket: Ticket, control: Control): Promise<NativeSandbox | Failure>
  /** The sandboxes of a plan, by resource. */
  ofPlan(plan: string): Promise<Array<NativeSandbox> | Failure>
  /** Commits all sandboxes of a plan, or none. */
  commitAll(plan: string, request: NativeCommitRequest, ticket: Ticket, control: Control): Promise<Array<NativeCommitReport> | Failure>
  /** Lets go of the sandboxes of a plan that are cleaned up. */
  forget(plan: string): Promise<undefined | Failure>
}

/** What a new sandbox is to be. */
export interface NativeSandboxRequest {
  /** The directory to isolate, absolute. */
  resource: Uint8Array
  /** How, in lower snake case. */
  strategy: string
  /** Its plan's id. */
  planId?: string
  /** How a copy is to be made. */
  mechanism: string
  /** The directory in which to make it, absolute. */
  location?: Uint8Array
  /** What is carried into a worktree, relative to the resource. */
  seed: Array<Uint8Array>
  /** Begin with the resource's uncommitted state. */
  carryChanges: boolean
  /** Nobody has to hold it for so many milliseconds; without it, this process does. */
  detachedForMs?: number
  /** Refuse a tree of more files. */
  maxFiles?: number
}

/** A path that is not covered, kept or restorable, with the reason. */
export interface NativeUncovered {
  /** The path, relative to the workspace. */
  path: PathText
  /** The reason, in lower snake case. */
  reason: string
  /** More than the reason, where there is more to say. */
  detail?: string
}

/** What the store holds. */
export interface NativeUsageReport {
  /** Bytes in the store. */
  storeBytes: number
  /** What the store could grow to. */
  maxBytes: number
  /** Each checkpoint's share. */
  checkpoints: Array<NativeCheckpointUsage>
}

/** What a verification found. */
export interface NativeVerifyReport {
  /** Checkpoints checked. */
  checked: number
  /** What is damaged. */
  damaged: Array<NativeDamaged>
}

/** A path for JavaScript. */
export interface PathText {
  /** The path itself where it is valid UTF-8, otherwise escaped. */
  text: string
  /** The path's bytes, only where it is not valid UTF-8. */
  bytes?: Uint8Array
}

/** How far a long call has come. */
export interface ProgressEvent {
  /** The step. */
  phase: string
  /** Paths handled in this step. */
  done: number
  /** Paths to handle, where known. */
  total?: number
  /** Bytes read or written in this step. */
  bytes: number
}

/** Ends one long call from JavaScript. */
export declare class Ticket {
  /** A ticket for one call. */
  constructor()
  /** Ends the call at its next system call. Cannot be taken back. `false` when it is too late: it is about to succeed. */
  cancel(): boolean
  /**
   * Nobody waits any more for a call that was about to succeed: the engine takes back what it did. `false` when it is too late for
   * that as well.
   */
  abandon(): boolean
  /** How far the call has written to a workspace: it goes no further. Answers at once, whatever the call hangs in. */
  giveUp(): GivenUp
  /**
   * What a call that takes a checkpoint is about to answer, as soon as that stays; the call itself still has to note what makes the
   * next one quick.
   */
  created(): NativeCreated | null
}

/** The statuses that a sandbox of this status may become (S3). */
export declare function allowedTransitions(from: string): Array<string> | Failure

/** The comment of a turn's checkpoint (G2). */
export declare function checkpointComment(turnId: string, prefix?: string | undefined | null): string | Failure

/** Whether a sandbox of one status may become another (S3). */
export declare function isLegalTransition(from: string, to: string): boolean | Failure

/** Opens a store, which is made where there is none. What happens in it goes to `events`. */
export declare function openManager(options: NativeOpenOptions, events?: EventQueue | undefined | null): Promise<NativeManager | Failure>

/** Reads a comment; `null` when it is not one of ours (G2). */
export declare function parseCheckpointComment(comment: string): NativeComment | null

/** Looks at a directory and a store and says what works there. */
export declare function probe(directory: Uint8Array, store: Uint8Array): Promise<Array<NativeFinding> | Failure>

/** How many checkpoints this process has removed so far, in any thread. After 2^32 it begins anew. */
export declare function removals(): number

/** Those that were removed since that was `count`. */
export declare function removalsSince(count: number): NativeRemovals

/** Decides from the values of the two environment variables (G3). */
export declare function resolveFlag(flag?: string | undefined | null, nodeEnv?: string | undefined | null): NativeFlag

/** How `copy_on_write` sandboxes of a directory can be made, the best way first; the first one that works is used. */
export declare function sandboxMechanisms(directory: Uint8Array, store: Uint8Array): Promise<Array<NativeFinding> | Failure>

/** Whether a checkpoint is due before the next batch of a turn (G1, G2). */
export declare function shouldCheckpoint(flagEnabled: boolean, turnId: string, lastCheckpointTurnId?: string | undefined | null): boolean | Failure

/**
 * The hunks of a unified diff of two texts, three lines around each change: `@`, a blank, `+`, `-` or `\`, then the texts' own bytes.
 * `null` when one of them holds a NUL.
 */
export declare function textDiff(before: Uint8Array, after: Uint8Array): Promise<Uint8Array | null | Failure>

/** The version that this addon was built as. */
export declare function version(): string

/** Why a command is not proven to only read, as a sentence without a full stop; `null` when it is proven. */
export declare function whyNotReadOnly(command: string): string | null
