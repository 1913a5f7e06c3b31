/** The addon's answers as the package's frozen objects. */
import type {
  NativeBegun,
  NativeChange,
  NativeCheckpoint,
  NativeConflict,
  NativeCreated,
  NativeDamaged,
  NativeListed,
  NativePending,
  NativePruneReport,
  NativeRecoveryReport,
  NativeRollbackReport,
  NativeUncovered,
  NativeUsageReport,
  NativeVerifyReport,
  PathText,
} from './native.js';
import type {
  Begun,
  Change,
  Conflict,
  CreatedCheckpoint,
  DamagedCheckpoint,
  KeepReason,
  ListedCheckpoint,
  PendingRestore,
  Phase,
  PruneReport,
  RecoveryReport,
  RestoreKind,
  RollbackReport,
  SandboxCheckpoint,
  Uncovered,
  UsageReport,
  VerifyReport,
} from './types.js';

export const list = <A, B>(all: readonly A[], one: (entry: A) => B): readonly B[] => Object.freeze(all.map(one));

function path({ text, bytes }: PathText): { path: string; pathBytes?: Uint8Array } {
  return bytes === undefined ? { path: text } : { path: text, pathBytes: bytes };
}

export function uncovered(from: NativeUncovered): Uncovered {
  const { reason, detail } = from;
  return Object.freeze({ ...path(from.path), reason, ...(detail === undefined ? {} : { detail }) });
}

export function change(from: NativeChange): Change {
  const { kind, bytes } = from;
  return Object.freeze({
    ...path(from.path),
    kind: kind as Change['kind'],
    ...(bytes === undefined ? {} : { bytes }),
  });
}

export const changes = (all: readonly NativeChange[]): readonly Change[] => list(all, change);

/** The fields of a record, not frozen yet. */
function fields(from: NativeCheckpoint) {
  const { createdAtMs, coverage } = from;
  return {
    checkpointId: from.checkpointId,
    sandboxId: from.sandboxId,
    planId: from.planId,
    phase: from.phase as Phase,
    // A Date can be changed even in a frozen object: each reading gets its own.
    get createdAt() {
      return new Date(createdAtMs);
    },
    metadata: Object.freeze(Object.fromEntries(from.metadata.map(({ key, value }) => [key, value]))),
    snapshotPath: from.snapshotPath.text,
    workspace: from.workspace.text,
    coverage: Object.freeze({ ...coverage, uncovered: list(coverage.uncovered, uncovered) }),
  };
}

export function checkpoint(from: NativeCheckpoint): SandboxCheckpoint {
  return Object.freeze(fields(from));
}

export function listed(from: NativeListed): ListedCheckpoint {
  const beside = {
    pinned: from.pinned,
    bytes: from.bytes,
    ...(from.label === undefined ? {} : { label: from.label }),
    ...(from.marksDamaged === undefined ? {} : { marksDamaged: from.marksDamaged }),
  };
  // Not by spreading the record: that would turn its createdAt into a plain Date.
  return Object.freeze(Object.assign(fields(from.checkpoint), beside));
}

export function conflict({ path: at, ours, theirs }: NativeConflict): Conflict {
  return Object.freeze({ ...path(at), ours, theirs });
}

export function rollbackReport(from: NativeRollbackReport): RollbackReport {
  return Object.freeze({
    restored: from.restored,
    checkpointId: from.checkpointId,
    ...(from.undoCheckpointId === undefined ? {} : { undoCheckpointId: from.undoCheckpointId }),
    written: from.written,
    deleted: from.deleted,
    restamped: from.restamped,
    rootRecreated: from.rootRecreated,
    headMoved: from.headMoved,
    conflicts: list(from.conflicts, conflict),
    kept: list(from.kept, uncovered),
    notRestorable: list(from.notRestorable, uncovered),
    actions: changes(from.actions),
    journaled: from.journaled,
    ...(from.recovered === undefined ? {} : { recovered: recoveryReport(from.recovered) }),
    ...(from.paths === undefined ? {} : { paths: list(from.paths, (one) => Object.freeze(path(one))) }),
    durationMs: from.durationMs,
  });
}

function begun({ kind, targets, undoCheckpointId, startedAtMs, paths }: NativeBegun): Begun {
  return Object.freeze({
    kind: kind as RestoreKind,
    targets: Object.freeze(targets),
    ...(undoCheckpointId === undefined ? {} : { undoCheckpointId }),
    get startedAt() {
      return new Date(startedAtMs);
    },
    ...(paths === undefined ? {} : { paths: list(paths, (one) => Object.freeze(path(one))) }),
  });
}

export const pendingRestores = (all: readonly NativePending[]): readonly PendingRestore[] =>
  list(all, ({ sandboxId, workspace, begun: what, damaged }) =>
    Object.freeze({
      sandboxId,
      ...(workspace === undefined ? {} : { workspace: workspace.text }),
      ...(what === undefined ? {} : { begun: begun(what) }),
      ...(damaged === undefined ? {} : { damaged }),
    }),
  );

export function recoveryReport(from: NativeRecoveryReport): RecoveryReport {
  return Object.freeze({
    sandboxId: from.sandboxId,
    workspace: from.workspace.text,
    outcome: from.outcome as RecoveryReport['outcome'],
    ...(from.journal === undefined ? {} : { journalPath: from.journal.text }),
    ...(from.reason === undefined ? {} : { reason: from.reason }),
    ...(from.begun === undefined ? {} : { begun: begun(from.begun) }),
    written: from.written,
    deleted: from.deleted,
    kept: list(from.kept, uncovered),
    notRestorable: list(from.notRestorable, uncovered),
    actions: changes(from.actions),
  });
}

/** The record of a checkpoint that was made just now. */
export function created({ checkpoint: from, recovered }: NativeCreated): CreatedCheckpoint {
  if (recovered === undefined) return checkpoint(from);
  return Object.freeze(Object.assign(fields(from), { recovered: recoveryReport(recovered) }));
}

export function pruneReport({ deleted, kept, ...rest }: NativePruneReport): PruneReport {
  return Object.freeze({
    ...rest,
    deleted: Object.freeze(deleted),
    kept: list(kept, ({ checkpointId, reason }) => Object.freeze({ checkpointId, reason: reason as KeepReason })),
  });
}

export const damagedCheckpoints = (all: readonly NativeDamaged[]): readonly DamagedCheckpoint[] =>
  list(all, ({ checkpointId, reason }) => Object.freeze({ checkpointId, reason }));

export function verifyReport(from: NativeVerifyReport): VerifyReport {
  const damaged = list(from.damaged, ({ checkpointId, path, reason }) =>
    Object.freeze({ checkpointId, reason, ...(path === undefined ? {} : { path: path.text }) }),
  );
  return Object.freeze({ checked: from.checked, ok: damaged.length === 0, damaged });
}

export function usageReport(from: NativeUsageReport): UsageReport {
  const { storeBytes, maxBytes } = from;
  return Object.freeze({
    storeBytes,
    maxBytes,
    checkpoints: list(from.checkpoints, (one) => Object.freeze({ ...one })),
  });
}
