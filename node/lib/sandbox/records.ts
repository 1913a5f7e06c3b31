/** The addon's answers about sandboxes as the package's frozen objects. */
import type {
  NativeAbandonedReport,
  NativeCleanupReport,
  NativeCommitReport,
  NativeRemains,
  NativeSandboxInfo,
  PathText,
} from '../native.js';
import type { SandboxStatus } from '../policy.js';
import { changes, conflict, list, uncovered } from '../records.js';
import type {
  AbandonedReport,
  CleanupReport,
  CommitReport,
  DamagedSandbox,
  Mechanism,
  Remains,
  SandboxInfo,
  SandboxOwner,
  Strategy,
} from './types.js';

export const texts = (all: readonly PathText[]): readonly string[] => list(all, ({ text }) => text);

/** How a sandbox of a strategy was made, where the engine says nothing of a mechanism. */
export function mechanism(strategy: string, made: string | null | undefined): Mechanism {
  return (made ?? (strategy === 'git_worktree' ? 'worktree' : 'in_place')) as Mechanism;
}

export function commitReport(from: NativeCommitReport): CommitReport {
  const { preApplyCheckpointId, branch, commit } = from;
  return Object.freeze({
    committed: from.committed,
    changes: changes(from.changes),
    conflicts: list(from.conflicts, conflict),
    heldBack: list(from.heldBack, uncovered),
    ...(preApplyCheckpointId === undefined ? {} : { preApplyCheckpointId }),
    ...(branch === undefined ? {} : { branch }),
    ...(commit === undefined ? {} : { commit }),
  });
}

/** `undefined` when the record is damaged. */
function info({ id, about, owner, unsaved, problem }: NativeSandboxInfo): SandboxInfo | undefined {
  if (about === undefined) return undefined;
  return Object.freeze({
    id,
    resource: about.resource.text,
    path: about.path.text,
    strategy: about.strategy as Strategy,
    mechanism: mechanism(about.strategy, about.mechanism),
    status: about.status as SandboxStatus,
    ...(about.planId === undefined ? {} : { planId: about.planId }),
    owner: owner as SandboxOwner,
    ...(about.detachedUntilMs === undefined ? {} : { detachedUntil: new Date(about.detachedUntilMs) }),
    unsaved: unsaved ?? 'unknown',
    ...(problem === undefined ? {} : { problem }),
  });
}

/** Those whose record can be read. */
export const infos = (all: readonly NativeSandboxInfo[]): SandboxInfo[] =>
  all.map(info).filter((one) => one !== undefined);

/** The others. */
export const damaged = (all: readonly NativeSandboxInfo[]): readonly DamagedSandbox[] =>
  list(
    all.filter(({ about }) => about === undefined),
    ({ id, owner, problem = 'its record cannot be read' }) =>
      Object.freeze({ id, owner: owner as SandboxOwner, reason: problem }),
  );

/** Nothing where nothing is left. */
function remainsOf({ paths, refs, repositories }: NativeRemains): { remains?: Remains } {
  if (paths.length + refs.length + repositories.length === 0) return {};
  return {
    remains: Object.freeze({ paths: texts(paths), refs: Object.freeze(refs), repositories: texts(repositories) }),
  };
}

export function cleanupReport({ savedCheckpointId, remains }: NativeCleanupReport): CleanupReport {
  return Object.freeze({
    ...(savedCheckpointId === undefined ? {} : { savedCheckpointId }),
    ...remainsOf(remains),
  });
}

export function abandonedReport({ removed, kept, remains }: NativeAbandonedReport): AbandonedReport {
  return Object.freeze({
    removed: Object.freeze(removed),
    kept: list(kept, ({ id, reason }) => Object.freeze({ id, reason })),
    ...remainsOf(remains),
  });
}
