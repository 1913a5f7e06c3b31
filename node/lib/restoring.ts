/** The calls that write to a workspace: rollback, undo, revert, and what becomes of interrupted ones. */
import { options } from './check.js';
import { type ErrorCode, invalidArgument, isTurnbackError, TurnbackError } from './errors.js';
import { afterRestore, afterResume } from './given-up.js';
import type { Logger } from './log.js';
import type { NativeRollbackReport } from './native.js';
import { BOUNDED, checkpointId, REVERT, ROLLBACK } from './options.js';
import { absolute, type Path } from './paths.js';
import * as records from './records.js';
import { beginRestore, type Outcome } from './restores.js';
import type { OpenStore } from './store.js';
import type {
  Bounded,
  RecoveryReport,
  RevertOptions,
  RollbackOptions,
  RollbackReport,
  SandboxCheckpoint,
} from './types.js';

const UNCHANGED = 'nothing was changed';

export async function rollbackTo(
  store: OpenStore,
  checkpoint: SandboxCheckpoint | string,
  rollbackOptions: RollbackOptions | undefined,
): Promise<RollbackReport> {
  const named = typeof checkpoint === 'string' ? checkpointId('checkpoint', checkpoint) : ownRecord(checkpoint);
  const given = options('options', ROLLBACK, rollbackOptions);
  const request = {
    dryRun: given.dryRun ?? false,
    ...scope(given.paths),
    ...(given.into === undefined ? {} : { into: given.into }),
    ...(given.git === undefined ? {} : { gitExact: given.git === 'exact' }),
    allowReplacedRoot: given.allowReplacedRoot ?? false,
    safety: given.safety ?? true,
  };
  const id = typeof named === 'string' ? named : await stored(store, named);
  const roll = (afterwards: Afterwards) =>
    store.long('the rollback', afterwards, given, {
      start: (ticket, control) => store.native.rollback(id, request, ticket, control),
      writes: 'restore',
    });
  const whole = request.paths === undefined;
  const report = request.dryRun
    ? await roll(UNCHANGED)
    : await restoring(
        () => workspaceOf(store, id, request.into),
        roll,
        (done) => outcomeOf(done, whole),
      );
  return told(store, report, request.dryRun ? 'a rollback was planned' : 'rolled back');
}

export async function undo(
  store: OpenStore,
  rollback: RollbackReport | string,
  undoOptions: Bounded | undefined,
): Promise<RollbackReport> {
  const id = checkpointId('rollback', typeof rollback === 'string' ? rollback : undoIdOf(rollback));
  const given = options('options', BOUNDED, undoOptions);
  const report = await restoring(
    () => workspaceOf(store, id),
    (afterwards) =>
      store.long('the undo', afterwards, given, {
        start: (ticket, control) => store.native.undo(id, ticket, control),
        writes: 'restore',
      }),
    // It brings back what batches did.
    (done) => outcomeOf(done, false),
  );
  return told(store, report, 'rollback undone');
}

export async function revert(
  store: OpenStore,
  from: string,
  to: string,
  revertOptions: RevertOptions | undefined,
): Promise<RollbackReport> {
  const [before, after] = [checkpointId('from', from), checkpointId('to', to)];
  const given = options('options', REVERT, revertOptions);
  const request = {
    onConflict: given.onConflict ?? 'fail',
    dryRun: given.dryRun ?? false,
    ...scope(given.paths),
    ...(given.git === undefined ? {} : { gitExact: given.git === 'exact' }),
    allowReplacedRoot: given.allowReplacedRoot ?? false,
    safety: given.safety ?? true,
  };
  const take = (afterwards: Afterwards) =>
    store.long('the revert', afterwards, given, {
      start: (ticket, control) => store.native.revert(before, after, request, ticket, control),
      writes: 'restore',
    });
  const report = request.dryRun
    ? await take(UNCHANGED)
    : // It takes back one turn, and leaves what others did.
      await restoring(
        () => workspaceOf(store, before),
        take,
        (done) => outcomeOf(done, false),
      );
  return told(store, report, request.dryRun ? 'a revert was planned' : 'changes taken back');
}

/** Finishes what was interrupted in a directory, or gives it up; `undefined` when nothing was. */
export async function resume(
  store: OpenStore,
  how: 'recover' | 'abandon',
  directory: Path,
  resumeOptions: Bounded | undefined,
): Promise<RecoveryReport | undefined> {
  const bytes = absolute('directory', directory);
  const given = options('options', BOUNDED, resumeOptions);
  const report = await restoring(
    () => store.call(() => store.native.sandboxIdOf(bytes)),
    () =>
      store.long(how === 'recover' ? 'the recovery' : 'giving it up', afterResume, given, {
        start: (ticket, control) => store.native[how](bytes, ticket, control),
        writes: 'resume',
      }),
    // What was interrupted wrote earlier, perhaps in a process that told nobody.
    (done) => (done === null ? NOTHING : { wrote: true, whole: false, undoCheckpointId: undefined }),
  );
  if (report === null) return undefined;
  const told = records.recoveryReport(report);
  store.log.info({ workspace: told.workspace, outcome: told.outcome }, 'an interrupted restore was ended');
  return told;
}

/** Only these paths; nothing given is everything, an empty list is a mistake. */
function scope(paths: Buffer[] | undefined): { paths?: Buffer[] } {
  if (paths === undefined) return {};
  if (paths.length > 0) return { paths };
  throw invalidArgument(
    'options.paths',
    'options.paths is empty: name what to restore, or leave it out for everything',
  );
}

type Afterwards = Parameters<OpenStore['long']>[1];

const NOTHING: Outcome = { wrote: false };

/** A restore of a workspace: also one that fails halfway voids what guards remember (G8). Its workspace may be unknown. */
export async function restoring<T>(
  workspace: () => Promise<string | undefined>,
  restore: (afterwards: Afterwards) => Promise<T>,
  outcome: (done: T) => Outcome,
): Promise<T> {
  const { of, over } = beginRestore();
  let begun = false;
  let unanswered = false;
  try {
    of(await workspace());
    begun = true;
    const done = await restore((known) => {
      unanswered = known.pending === undefined && known.begun === undefined;
      return afterRestore(known);
    });
    over(outcome(done));
    return done;
  } catch (error) {
    over(
      begun && (unanswered || mayHaveWritten(error))
        ? { wrote: true, whole: false, undoCheckpointId: undefined }
        : NOTHING,
    );
    throw error;
  }
}

/** What a report says of it. What an interrupted one was finished with first is not told apart. */
export function outcomeOf(
  { restored, written, deleted, rootRecreated, recovered, undoCheckpointId }: NativeRollbackReport,
  all: boolean,
): Outcome {
  const wrote = written + deleted > 0 || rootRecreated || !restored || (recovered ?? null) !== null;
  return wrote ? { wrote, whole: all && restored, undoCheckpointId } : NOTHING;
}

/** With these the engine has not begun to write, unless it says so. */
const BEFORE_WRITING: ReadonlySet<ErrorCode> = new Set([
  'ABORTED',
  'BUSY',
  'CONFLICT',
  'INVALID_ARGUMENT',
  'NOT_FOUND',
  'NOT_UNDOABLE',
  'POISONED',
  'TIMED_OUT',
  'TOO_BROAD',
  'WORKSPACE_MISMATCH',
  'WORKSPACE_REPLACED',
]);

function mayHaveWritten(error: unknown): boolean {
  if (!isTurnbackError(error) || !BEFORE_WRITING.has(error.code)) return true;
  const { pending, begun, recovered } = error.details;
  return pending === true || begun === true || recovered !== undefined;
}

/** `undefined` if it cannot be told. Of a checkpoint that does not exist, nothing is restored: no workspace has an empty id. */
async function workspaceOf(store: OpenStore, id: string, into?: Buffer): Promise<string | undefined> {
  store.usable();
  try {
    if (into !== undefined) return await store.call(() => store.native.sandboxIdOf(into));
    return (await store.call(() => store.native.get(id)))?.sandboxId ?? '';
  } catch {
    return undefined;
  }
}

export function told(store: OpenStore, from: NativeRollbackReport, message: string): RollbackReport {
  const report = records.rollbackReport(from);
  tellRecovered(store.log, report.recovered);
  const { checkpointId: id, restored, written, deleted, undoCheckpointId, conflicts } = report;
  store.log.info(
    { checkpointId: id, restored, written, deleted, undoCheckpointId, conflicts: conflicts.length },
    message,
  );
  return report;
}

/** Says that an interrupted restore was in the way, and how it ended: nobody asked for that. */
export function tellRecovered(log: Logger, recovered: RecoveryReport | undefined): void {
  if (recovered === undefined) return;
  const { workspace, outcome, written, deleted, kept, notRestorable } = recovered;
  const what = recovered.begun?.kind ?? 'restore';
  const message = `an interrupted ${what} was ${outcome === 'finished' ? 'finished' : 'given up'} first`;
  // The reports have all of them; here the first ones, for those who see only the log.
  const paths = [...new Set([...notRestorable, ...kept].map(({ path, reason }) => `${path} (${reason})`))].slice(0, 10);
  const left = paths.length === 0 ? {} : { left: paths };
  log.warn(
    { workspace, outcome, written, deleted, kept: kept.length, notRestorable: notRestorable.length, ...left },
    message,
  );
}

/** The id of a record, if the store's own record names the same workspace. */
async function stored(store: OpenStore, given: SandboxCheckpoint): Promise<string> {
  const id = given.checkpointId;
  const found = await store.call(() => store.native.get(id));
  if (found === null) {
    throw new TurnbackError(
      'NOT_FOUND',
      `there is no checkpoint ${id} in this store; listCheckpoints() gives those that are`,
    );
  }
  if (found.sandboxId !== given.sandboxId || found.workspace.text !== given.workspace) {
    throw new TurnbackError(
      'WORKSPACE_MISMATCH',
      `the record of checkpoint ${id} names another workspace than the store does; pass the record as the store gave it, and \`into\` to restore elsewhere`,
    );
  }
  return id;
}

/** Something that can be a record: whether it is one of the store's, the store knows. */
function ownRecord(given: SandboxCheckpoint): SandboxCheckpoint {
  if (typeof given !== 'object' || given === null) {
    throw invalidArgument('checkpoint', 'checkpoint is neither a record nor an id: pass what createCheckpoint() gave');
  }
  checkpointId('checkpoint.checkpointId', given.checkpointId);
  return given;
}

function undoIdOf(report: RollbackReport): string {
  if (typeof report !== 'object' || report === null) {
    throw invalidArgument('rollback', 'rollback is neither a report nor an id: pass what rollbackTo() gave');
  }
  checkpointId('rollback.checkpointId', report.checkpointId);
  if (report.undoCheckpointId !== undefined) return report.undoCheckpointId;
  throw new TurnbackError(
    'NOT_UNDOABLE',
    'this rollback took no checkpoint first (a dry run, safety: false, or nothing was there): there is nothing to go back to',
  );
}
