// C8, C12, P11: a disk freezes while a rollback is at it. The caller is told in time, how far it came and how to undo it; the engine goes no
// further than that.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointManager, isTurnbackError, type Long, type Progress, type TurnbackError } from 'turnback';
import { expect, it, type TestContext } from 'vitest';
import { aWorkerStaysThere, freeze, mounted, thaw } from '../guard/frozen-disk.js';
import { DAMAGED, interrupted, journalOf, MANY } from './interrupted.js';
import { PACKAGE, picture, temporary, turnback, write } from './support.js';

/** A workspace with a checkpoint, damaged since. One of the two lies on a disk that can be frozen. */
async function prepared(context: TestContext, frozen: 'store' | 'workspace') {
  const there = mounted();
  if ('reason' in there) return context.skip(there.reason);
  if (!freeze(there.mount)) return context.skip('fsfreeze is not possible here');
  thaw(there.mount);
  const on = (what: typeof frozen) => (what === frozen ? there.mount : temporary());
  const workspace = write(join(on('workspace'), 'w'), MANY);
  const store = join(on('store'), 'store');
  mkdirSync(store, { mode: 0o700 });
  const manager = await CheckpointManager.open({ store });
  const before = picture(workspace);
  const { checkpointId } = await manager.createCheckpoint(workspace, 'p', 'manual');
  write(workspace, DAMAGED);
  return { ...there, workspace, store, manager, checkpointId, before, damaged: picture(workspace) };
}

/** What it rejects with while the disk hangs: within a hundred times of what C12 allows, and half of what it took without a mend. */
async function soon(call: Promise<unknown>): Promise<TurnbackError> {
  const late = new Promise((resolve) => setTimeout(resolve, 5000, 'late').unref());
  const error = await Promise.race([
    call.then(
      () => 'succeeded',
      (reason: unknown) => reason,
    ),
    late,
  ]);
  if (!isTurnbackError(error)) throw new Error(`not an error of ours: ${String(error)}`);
  return error;
}

it('before its journal: nothing was changed, and nothing will be', async (context) => {
  const { mount, manager, workspace, checkpointId, damaged } = await prepared(context, 'store');
  freeze(mount);
  try {
    const error = await soon(manager.rollbackTo(checkpointId, { deadlineMs: 300 }));
    expect(error).toMatchObject({ code: 'TIMED_OUT', retryable: true, details: { pending: false, begun: false } });
    expect(error.message).toMatch(/; nothing was changed$/);
  } finally {
    thaw(mount);
  }
  await manager.close();
  expect(picture(workspace)).toEqual(damaged);
});

it('between its journal and the first write: it says that the journal is there, and how to undo', async (context) => {
  const { mount, manager, store, workspace, checkpointId, damaged } = await prepared(context, 'workspace');
  freeze(mount);
  try {
    const controller = new AbortController();
    const call = manager.rollbackTo(checkpointId, { signal: controller.signal });
    await aWorkerStaysThere();
    controller.abort('enough');
    const error = await soon(call);
    const undoCheckpointId = expect.any(String);
    expect(error).toMatchObject({
      code: 'ABORTED',
      cause: 'enough',
      details: { pending: true, begun: false, undoCheckpointId },
    });
    expect(error.message).toMatch(/nothing was written yet, but its journal is there/);
    expect(await manager.pending()).toMatchObject([{ begun: { undoCheckpointId: error.details.undoCheckpointId } }]);
  } finally {
    thaw(mount);
  }
  // The worker takes it back by itself.
  await manager.close();
  expect(picture(workspace)).toEqual(damaged);
  await using again = await CheckpointManager.open({ store });
  expect(await again.pending()).toEqual([]);
});

/** What a restore of the store's workspace rejects with that is given up while the frozen store keeps it from letting go of its journal. */
async function endsFrozen(
  { mount, workspace }: { mount: string; workspace: string },
  prepare: () => Promise<void> | void,
  restore: (limits: Long) => Promise<unknown>,
): Promise<TurnbackError> {
  // The store freezes while files are put in place.
  const attempt = async (): Promise<TurnbackError | undefined> => {
    const controller = new AbortController();
    let isFrozen = false;
    const onProgress = ({ phase }: Progress) => {
      if (phase === 'apply' && !isFrozen) isFrozen = freeze(mount);
    };
    const call = restore({ signal: controller.signal, onProgress });
    // It may be quicker than its own progress event.
    let over = false;
    const watched = call.finally(() => {
      over = true;
    });
    watched.catch(() => {});
    while (!isFrozen && !over) await new Promise(setImmediate);
    if (over) return undefined;
    await aWorkerStaysThere();
    controller.abort('enough');
    return await soon(watched);
  };
  for (;;) {
    write(workspace, DAMAGED);
    await prepare();
    const error = await attempt();
    if (error !== undefined) return error;
    thaw(mount);
  }
}

it('after the last write: it was carried out to its end, whatever becomes of its journal', async (context) => {
  const around = await prepared(context, 'store');
  const { mount, manager, store, workspace, checkpointId, damaged, before } = around;
  let error: TurnbackError;
  try {
    const roll = (limits: Long) => manager.rollbackTo(checkpointId, limits);
    error = await endsFrozen(around, () => {}, roll);
    expect(error).toMatchObject({
      code: 'ABORTED',
      details: { pending: false, begun: true, finished: true, undoCheckpointId: expect.any(String) },
    });
    expect(error.message).toMatch(/it had been carried out to its end: where its journal is still there, the disk has/);
    expect(picture(workspace)).toEqual(before);
    expect(await manager.pending()).toHaveLength(1);
  } finally {
    thaw(mount);
  }
  await manager.close();
  await using again = await CheckpointManager.open({ store });
  expect(await again.pending()).toEqual([]);
  await again.undo(error.details.undoCheckpointId as string);
  expect(Object.keys(picture(workspace))).toEqual(Object.keys(damaged));
});

it('a recovery after its last write: the same, with the undo of what it finished', async (context) => {
  const around = await prepared(context, 'store');
  const { mount, manager, store, workspace, checkpointId, before } = around;
  const checkpoint = (await manager.listCheckpoints()).find((one) => one.checkpointId === checkpointId);
  if (checkpoint === undefined) throw new Error('it is not listed');
  try {
    const begin = async () => void (await interrupted(manager, workspace, checkpoint));
    const error = await endsFrozen(around, begin, (limits) => manager.recover(workspace, limits));
    expect(error).toMatchObject({
      code: 'ABORTED',
      details: { begun: true, finished: true, recovered: 'finished', undoCheckpointId: expect.any(String) },
    });
    expect(error.message).toMatch(/it had been carried out to its end/);
    expect(picture(workspace)).toEqual(before);
  } finally {
    thaw(mount);
  }
  await manager.close();
  await using again = await CheckpointManager.open({ store });
  expect(await again.pending()).toEqual([]);
});

it('a damaged journal that is being set aside: it says that nobody knows', async (context) => {
  const { mount, manager, store, workspace, checkpointId } = await prepared(context, 'store');
  const checkpoint = (await manager.listCheckpoints()).find((one) => one.checkpointId === checkpointId);
  if (checkpoint === undefined) throw new Error('it is not listed');
  await interrupted(manager, workspace, checkpoint);
  writeFileSync(journalOf(manager, checkpoint), 'no journal');
  const half = picture(workspace);
  freeze(mount);
  try {
    const error = await soon(manager.recover(workspace, { deadlineMs: 2000 }));
    expect(error).toMatchObject({ code: 'TIMED_OUT', details: { mayBeEnded: true } });
    expect(error.details).not.toHaveProperty('pending');
    expect(error.message).toMatch(/what was interrupted may have been given up by now: .*pending\(\)/);
    expect(await manager.pending()).toHaveLength(1);
  } finally {
    thaw(mount);
  }
  await manager.close();
  expect(picture(workspace)).toEqual(half);
  await using again = await CheckpointManager.open({ store });
  // What it could not be told any more.
  expect(await again.pending()).toEqual([]);
});

it('the command line says so in time, and ends when the disk lets it', async (context) => {
  const { mount, manager, store, workspace, checkpointId, damaged } = await prepared(context, 'workspace');
  await manager.close();
  freeze(mount);
  const args = ['rollback', checkpointId, '--deadline', '300ms', '--store', store];
  const child = spawn(process.execPath, [join(PACKAGE, 'bin', 'turnback.js'), ...args], { stdio: 'pipe' });
  const ended = once(child, 'exit');
  try {
    const [told] = (await once(child.stderr, 'data')) as [Buffer];
    expect(String(told)).toMatch(/^turnback: TIMED_OUT: the rollback took longer than 300 ms; [^\n]+\n$/);
  } finally {
    thaw(mount);
  }
  expect((await ended)[0]).toBe(1);
  expect(picture(workspace)).toEqual(damaged);
  // Whether the process was there to take its journal back or not: that is told.
  expect(turnback(['recover', workspace, '--abandon', '--store', store]).code).toBe(0);
});
