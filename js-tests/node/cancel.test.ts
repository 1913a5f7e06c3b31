// C12, C10: cancelling, deadlines, progress, and calls from within callbacks.
import { getEventListeners } from 'node:events';
import { join } from 'node:path';
import { CheckpointManager, type Progress } from 'turnback';
import { describe, expect, it } from 'vitest';
import { picture, rejection, scene, write } from './support.js';

/** Enough files for several progress events. */
const MANY = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`d${at % 20}/f${at}`, `${at}\n`]));

describe('C12: abort', () => {
  it('a signal that has fired rejects at once, with its reason as the cause, and starts nothing', async () => {
    const { manager, workspace } = await scene();
    const reason = new Error('the user left');
    const signal = AbortSignal.abort(reason);
    const { checkpointId } = await manager.createCheckpoint(workspace, 'p', 'manual');
    const calls: Promise<unknown>[] = [
      manager.createCheckpoint(workspace, 'p', 'manual', {}, { signal }),
      manager.rollbackTo(checkpointId, { signal }),
      manager.diff(checkpointId, 'now', { signal }),
      manager.verify(undefined, { signal }),
    ];
    for (const error of await Promise.all(calls.map(rejection))) {
      expect(error).toMatchObject({ name: 'TurnbackError', code: 'ABORTED' });
      expect((error as Error).cause).toBe(reason);
    }
    expect(await manager.listCheckpoints()).toHaveLength(1);
  });

  it('during the call it rejects without waiting for the worker, and no checkpoint is left', async () => {
    const { manager, workspace, store } = await scene(MANY);
    const controller = new AbortController();
    let error: unknown;
    const call = manager
      .createCheckpoint(workspace, 'p', 'manual', {}, { signal: controller.signal })
      .catch((reason) => {
        error = reason;
      });
    controller.abort('stop');
    // Only microtasks run here: no answer of a worker can have come in.
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve();
    expect(error).toMatchObject({ code: 'ABORTED', cause: 'stop' });
    await call;
    await manager.close();
    await using again = await CheckpointManager.open({ store });
    expect(await again.listCheckpoints()).toEqual([]);
    expect(await again.verify()).toMatchObject({ ok: true });
  });

  it('a rollback cancelled while it runs can be run again, to the exact state', async () => {
    const { manager, workspace } = await scene(MANY);
    const before = picture(workspace);
    const checkpoint = await manager.createCheckpoint(workspace, 'p', 'manual');
    write(workspace, Object.fromEntries(Object.keys(MANY).map((name) => [name, 'damaged\n'])));
    const controller = new AbortController();
    const call = rejection(
      manager.rollbackTo(checkpoint, { signal: controller.signal, onProgress: () => controller.abort() }),
    );
    expect(await call).toMatchObject({ code: 'ABORTED' });
    // The cancelled worker keeps the workspace's lock until its next system call (C12).
    for (;;) {
      try {
        await manager.rollbackTo(checkpoint);
        break;
      } catch (error) {
        expect(error).toMatchObject({ code: 'BUSY' });
      }
    }
    expect(picture(workspace)).toEqual(before);
  });

  it('a rollback cancelled in the middle says how it can be undone (C8)', async () => {
    const { manager, workspace } = await scene(MANY);
    const checkpoint = await manager.createCheckpoint(workspace, 'p', 'manual');
    write(workspace, Object.fromEntries(Object.keys(MANY).map((name) => [name, 'damaged\n'])));
    const damaged = picture(workspace);
    const controller = new AbortController();
    // Only the rollback's own writing is stopped: by then the checkpoint that undoes it is there.
    const onProgress = ({ phase }: Progress) => void (phase === 'apply' && controller.abort('enough'));
    const error = await rejection(manager.rollbackTo(checkpoint, { signal: controller.signal, onProgress }));
    expect(error).toMatchObject({
      code: 'ABORTED',
      cause: 'enough',
      details: { undoCheckpointId: expect.any(String) },
    });
    const { undoCheckpointId } = (error as { details: { undoCheckpointId: string } }).details;
    expect((await manager.undo(undoCheckpointId)).restored).toBe(true);
    expect(picture(workspace)).toEqual(damaged);
  });

  it('no path at all is no scope', async () => {
    const { manager, workspace } = await scene();
    const { checkpointId } = await manager.createCheckpoint(workspace, 'p', 'manual');
    expect(await rejection(manager.rollbackTo(checkpointId, { paths: [] }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    expect(await manager.listCheckpoints()).toHaveLength(1);
  });

  it('a deadline that cannot be met gives TIMED_OUT, and no checkpoint is left', async () => {
    const { manager, workspace, store } = await scene(MANY);
    expect(await rejection(manager.createCheckpoint(workspace, 'p', 'manual', {}, { deadlineMs: 1 }))).toMatchObject({
      code: 'TIMED_OUT',
      retryable: true,
    });
    await manager.close();
    await using again = await CheckpointManager.open({ store });
    expect(await again.listCheckpoints()).toEqual([]);
  });

  it('a signal that fires afterwards does no harm, and no listener stays on it', async () => {
    const { manager, workspace } = await scene();
    const controller = new AbortController();
    await manager.createCheckpoint(workspace, 'p', 'manual', {}, { signal: controller.signal });
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    controller.abort();
    expect(await manager.listCheckpoints()).toHaveLength(1);
  });

  it('a signal of many calls has one listener, and ends them all', async () => {
    const { manager, workspace } = await scene(MANY);
    const controller = new AbortController();
    const { signal } = controller;
    const calls = Array.from({ length: 12 }, () =>
      rejection(manager.createCheckpoint(workspace, 'p', 'manual', {}, { signal })),
    );
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    controller.abort('stop');
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ code: 'ABORTED', cause: 'stop' });
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('progress', () => {
  it('tells how far the call has come, in frozen events', async () => {
    const { manager, workspace } = await scene(MANY);
    const events: Progress[] = [];
    await manager.createCheckpoint(workspace, 'p', 'manual', {}, { onProgress: (event) => events.push(event) });
    expect(events.length).toBeGreaterThan(0);
    for (const event of events) {
      expect(Object.isFrozen(event)).toBe(true);
      expect(event).toMatchObject({ phase: expect.any(String), done: expect.any(Number), bytes: expect.any(Number) });
    }
  });

  it('C10: a listener may call the manager again', async () => {
    const { manager, workspace } = await scene(MANY);
    const inner: Promise<unknown>[] = [];
    await manager.createCheckpoint(
      workspace,
      'p',
      'manual',
      {},
      { onProgress: () => inner.push(manager.listCheckpoints()) },
    );
    expect(inner.length).toBeGreaterThan(0);
    await Promise.all(inner);
  });

  it('a listener that throws or rejects is logged and disturbs nothing', async () => {
    const { workspace, home } = await scene(MANY);
    const warned: unknown[] = [];
    const silent = () => {};
    const logger = { debug: silent, info: silent, error: silent, warn: (fields: object) => void warned.push(fields) };
    await using manager = await CheckpointManager.open({ store: join(home, 'other'), logger });
    const failing = new Error('listener');
    const thrower = () => {
      throw failing;
    };
    const rejecter = (async () => {
      throw failing;
    }) as () => void;
    for (const onProgress of [thrower, rejecter]) {
      await manager.createCheckpoint(workspace, 'p', 'manual', {}, { onProgress });
    }
    expect(warned.length).toBeGreaterThan(1);
    expect(warned[0]).toEqual({ err: failing });
  });

  it('a logger that throws disturbs nothing', async () => {
    const { workspace, home } = await scene();
    const fail = () => {
      throw new Error('logger');
    };
    const logger = { debug: fail, info: fail, warn: fail, error: fail };
    await using manager = await CheckpointManager.open({ store: join(home, 'other'), logger });
    await manager.createCheckpoint(workspace, 'p', 'manual');
  });
});
