/** The calls that write to a workspace: rollback, undo, revert, and what becomes of interrupted ones. */
import { options } from './check.js';
import { invalidArgument, TurnbackError } from './errors.js';
import type { Logger } from './log.js';
import type { NativeRollbackReport } from './native.js';
import { BOUNDED, checkpointId, REVERT, ROLLBACK } from './options.js';
import { absolute, type Path } from './paths.js';
import * as records from './records.js';
import { noteRestore } from './restores.js';
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

/** What became of a restore that was given up. */
function perhapsInPart(engines: TurnbackError | undefined): string {
  const rest =
    'what it did so far stays, and the next call that writes to the workspace finishes it: run it again, or `turnback recover` (recover(), abandon())';
  if (engines === undefined) return `if it had begun to write, ${rest}`;
  return engines.details.pending === true ? rest : UNCHANGED;
}

/** How long a call that was given up may take to say how far it came, in milliseconds (C8). */
const LINGER_MS = 10_000;

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
    gitExact: given.git === 'exact',
    allowReplacedRoot: given.allowReplacedRoot ?? false,
    safety: given.safety ?? true,
  };
  const id = typeof named === 'string' ? named : await stored(store, named);
  const roll = () =>
    store.long('the rollback', request.dryRun ? UNCHANGED : perhapsInPart, given, {
      start: (ticket, control) => store.native.rollback(id, request, ticket, control),
      lingerMs: LINGER_MS,
    });
  const report = request.dryRun ? await roll() : await restoring(await workspaceOf(store, id, request.into), roll);
  return told(store, report, request.dryRun ? 'a rollback was planned' : 'rolled back');
}

export async function undo(
  store: OpenStore,
  rollback: RollbackReport | string,
  undoOptions: Bounded | undefined,
): Promise<RollbackReport> {
  const id = checkpointId('rollback', typeof rollback === 'string' ? rollback : undoIdOf(rollback));
  const given = options('options', BOUNDED, undoOptions);
  const report = await restoring(await workspaceOf(store, id), () =>
    store.long('the undo', perhapsInPart, given, {
      start: (ticket, control) => store.native.undo(id, ticket, control),
      lingerMs: LINGER_MS,
    }),
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
    gitExact: given.git === 'exact',
    allowReplacedRoot: given.allowReplacedRoot ?? false,
    safety: given.safety ?? true,
  };
  const take = () =>
    store.long('the revert', request.dryRun ? UNCHANGED : perhapsInPart, given, {
      start: (ticket, control) => store.native.revert(before, after, request, ticket, control),
      lingerMs: LINGER_MS,
    });
  const report = request.dryRun ? await take() : await restoring(await workspaceOf(store, before), take);
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
  const workspace = await store.call(() => store.native.sandboxIdOf(bytes));
  const report = await restoring(workspace, () =>
    store.long(how === 'recover' ? 'the recovery' : 'giving it up', perhapsInPart, given, {
      start: (ticket, control) => store.native[how](bytes, ticket, control),
      lingerMs: LINGER_MS,
    }),
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

/** A restore of a workspace: also one that fails halfway voids what guards remember (G8). `undefined`: nobody knows of which. */
async function restoring<T>(workspace: string | undefined, restore: () => Promise<T>): Promise<T> {
  try {
    return await restore();
  } finally {
    noteRestore(workspace);
  }
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

function told(store: OpenStore, from: NativeRollbackReport, message: string): RollbackReport {
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
  const { workspace, outcome, written, deleted, notRestorable } = recovered;
  const what = recovered.begun?.kind ?? 'restore';
  const message = `an interrupted ${what} was ${outcome === 'finished' ? 'finished' : 'given up'} first`;
  log.warn({ workspace, outcome, written, deleted, notRestorable: notRestorable.length }, message);
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
