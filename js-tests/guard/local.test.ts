// G8, C12, C17, F46, F50: the guard with the engine's own checkpoints.
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointManager, localDriver, runBash } from 'turnback';
import { describe, expect, it, onTestFinished } from 'vitest';
import { picture, rejection, scene as store, temporary, write } from '../node/support.js';
import { holdLock } from './lock.js';
import { type GuardOptions, noUnhandledRejections, PACKAGES } from './support.js';

noUnhandledRejections();

describe.each(PACKAGES)('over the %s gate', (_, turnback) => {
  /** A guard of one workspace. */
  async function scene(files?: Record<string, string>, options: GuardOptions = {}) {
    const around = await store(files);
    const driver = localDriver(around.manager, around.workspace);
    const guard = turnback.createGuard({ driver, enabled: () => true, timeoutMs: 60_000, ...options });
    const batch = (turnId: string) => guard.beforeBatch({ sandboxId: 'w', turnId });
    return { ...around, driver, guard, batch };
  }

  it('the checkpoint is the state right before the batch, and a rollback brings it back', async () => {
    const { batch, manager, workspace } = await scene();
    const before = picture(workspace);
    const verdict = await batch('t1');
    expect(verdict).toMatchObject({ outcome: 'created', protected: true, partial: false });
    const { checkpointId } = verdict;
    rmSync(join(workspace, 'sub'), { recursive: true });
    writeFileSync(join(workspace, 'a.txt'), 'destroyed');
    expect(await batch('t1')).toMatchObject({ outcome: 'already_covered', checkpointId });
    await manager.rollbackTo(checkpointId as string);
    expect(picture(workspace)).toEqual(before);
  });

  it('its record says what it is for', async () => {
    const { batch, manager } = await scene();
    const { checkpointId = '' } = await batch('a b');
    expect(await manager.getCheckpoint(checkpointId)).toMatchObject({
      phase: 'pre_batch',
      planId: 'guard',
      metadata: { comment: 'turnback-pre-agent-a%20b', turnId: 'a b' },
    });
  });

  it('G6: one that is late is labelled so in the store too', async () => {
    const { batch, manager, workspace } = await scene();
    renameSync(workspace, `${workspace}-away`);
    expect(await batch('t')).toMatchObject({ outcome: 'failed', reason: 'driver_failed' });
    renameSync(`${workspace}-away`, workspace);
    const { checkpointId = '', late } = await batch('t');
    expect(late).toBe(true);
    expect((await manager.getCheckpoint(checkpointId))?.metadata).toMatchObject({ late: 'true' });
  });

  it('P12: what is not covered makes it partial; options say what is left out', async () => {
    const { manager, workspace } = await store({
      'big.bin': 'x'.repeat(10_000),
      'node_modules/m.js': 'm',
      'a.txt': 'a',
    });
    const driver = localDriver(manager, workspace, { maxFileBytes: 1000, exclude: ['node_modules'], planId: 'mine' });
    const guard = turnback.createGuard({ driver, enabled: () => true, timeoutMs: 60_000 });
    const { partial, checkpointId = '' } = await guard.beforeBatch({ sandboxId: 'w', turnId: 't' });
    expect(partial).toBe(true);
    expect((await manager.getCheckpoint(checkpointId))?.planId).toBe('mine');
    const reasons: Record<string, string> = {};
    for await (const { path, reason } of manager.coverage(checkpointId)) reasons[path] = reason;
    expect(reasons).toMatchObject({ 'big.bin': 'too_large' });
    await expect(manager.readFile(checkpointId, 'node_modules/m.js')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('C5: a relative directory is resolved when the driver is made', async () => {
    const { manager, workspace, home } = await store();
    const before = process.cwd();
    process.chdir(home);
    const driver = localDriver(manager, 'work');
    process.chdir(before);
    const guard = turnback.createGuard({ driver, enabled: () => true, timeoutMs: 60_000 });
    const { checkpointId = '' } = await guard.beforeBatch({ sandboxId: 'w', turnId: 't' });
    expect((await manager.getCheckpoint(checkpointId))?.workspace).toBe(workspace);
  });

  it('refuses what can never work', async () => {
    const { manager, workspace } = await store();
    for (const call of [
      () => localDriver({} as never, workspace),
      () => localDriver(manager, ''),
      () => localDriver(manager, 7 as never),
      () => localDriver(manager, workspace, { deadlineMs: 5 } as never),
    ]) {
      expect(await rejection((async () => call())())).toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });

  describe('G8: a restore by any manager of this process', () => {
    it.each(['the same manager', 'another manager of the same store'])('%s', async (which) => {
      const { batch, manager, workspace, store: directory } = await scene();
      const { checkpointId = '' } = await batch('t');
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered' });
      let restorer = manager;
      if (which !== 'the same manager') {
        const other = await CheckpointManager.open({ store: directory });
        onTestFinished(() => other.close());
        restorer = other;
      }
      await restorer.rollbackTo(checkpointId, { dryRun: true });
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered' });
      writeFileSync(join(workspace, 'a.txt'), 'changed');
      const report = await restorer.rollbackTo(checkpointId);
      expect(await batch('t')).toMatchObject({ outcome: 'created' });
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered' });
      await restorer.undo(report);
      expect(await batch('t')).toMatchObject({ outcome: 'created' });
    });

    it('a rollback of another workspace, one into another directory, and one that finds no checkpoint change nothing', async () => {
      const { batch, manager, home } = await scene();
      const other = write(join(home, 'other'), { x: 'x' });
      const { checkpointId: ofOther } = await manager.createCheckpoint(other, 'p', 'manual');
      const { checkpointId = '' } = await batch('t');
      await manager.rollbackTo(ofOther);
      await manager.rollbackTo(checkpointId, { into: join(home, 'elsewhere') });
      await rejection(manager.rollbackTo('00000000000000000000000000'));
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered' });
    });

    it('one that is given up counts too: it may have begun', async () => {
      const { batch, manager, workspace, store: directory } = await scene();
      const { checkpointId = '' } = await batch('t');
      const lock = holdLock(join(directory, 'locks', await manager.sandboxIdOf(workspace)));
      const call = rejection(manager.rollbackTo(checkpointId, { deadlineMs: 50 }));
      expect(await call).toMatchObject({ code: 'TIMED_OUT' });
      await lock.release();
      expect(await batch('t')).toMatchObject({ outcome: 'created' });
    });
  });

  it('C17, F46: a store that another manager pauses is skipped at once, and protected again after resume', async () => {
    const { batch, store: directory } = await scene();
    const other = await CheckpointManager.open({ store: directory });
    onTestFinished(() => other.close());
    await other.pause();
    expect(await batch('a')).toMatchObject({ outcome: 'skipped', reason: 'paused', protected: false });
    await other.resume();
    expect(await batch('b')).toMatchObject({ outcome: 'created', late: false });
    expect(await other.listCheckpoints()).toHaveLength(1);
  });

  describe('C12, F50: time-outs and aborts', () => {
    it('the limit ends the wait, nothing is left and nothing published late, and the workspace is free again', async () => {
      const { batch, driver, manager, workspace, store: directory } = await scene();
      await batch('earlier');
      const hasty = turnback.createGuard({ driver, enabled: () => true, timeoutMs: 100 });
      const lock = holdLock(join(directory, 'locks', await manager.sandboxIdOf(workspace)));
      expect(await hasty.beforeBatch({ sandboxId: 'w', turnId: 't' })).toMatchObject({
        outcome: 'timed_out',
        reason: 'unfinished',
        protected: false,
      });
      await lock.release();
      await manager.close();
      expect(readdirSync(join(directory, 'tmp'))).toEqual([]);
      await using again = await CheckpointManager.open({ store: directory });
      expect(await again.listCheckpoints()).toHaveLength(1);
      const patient = turnback.createGuard({
        driver: localDriver(again, workspace),
        enabled: () => true,
        timeoutMs: 60_000,
      });
      expect(await patient.beforeBatch({ sandboxId: 'w', turnId: 't' })).toMatchObject({ outcome: 'created' });
    });

    it('a batch that is cancelled leaves, and the engine with it', async () => {
      const { guard, manager, workspace, store: directory } = await scene();
      const lock = holdLock(join(directory, 'locks', await manager.sandboxIdOf(workspace)));
      const controller = new AbortController();
      const asked = guard.beforeBatch({ sandboxId: 'w', turnId: 't', signal: controller.signal });
      controller.abort();
      expect(await asked).toMatchObject({ outcome: 'skipped', reason: 'cancelled' });
      await lock.release();
      await manager.close();
      await using again = await CheckpointManager.open({ store: directory });
      expect(await again.listCheckpoints()).toEqual([]);
    });

    it('C10: a workspace whose lock is held does not keep another one waiting', async () => {
      const { manager, workspace, home, store: directory, batch } = await scene();
      const other = write(join(home, 'other'), { x: 'x' });
      const second = turnback.createGuard({
        driver: localDriver(manager, other),
        enabled: () => true,
        timeoutMs: 60_000,
      });
      const lock = holdLock(join(directory, 'locks', await manager.sandboxIdOf(workspace)));
      const held = batch('t');
      expect(await second.beforeBatch({ sandboxId: 'o', turnId: 't' })).toMatchObject({ outcome: 'created' });
      await lock.release();
      expect(await held).toMatchObject({ outcome: 'created' });
    });

    it('a manager that is closed is a failure of the driver, in nobody’s way', async () => {
      const { batch, manager } = await scene();
      await manager.close();
      expect(await batch('t')).toMatchObject({ outcome: 'failed', reason: 'driver_failed' });
    });
  });

  it('G13: with runBash, the state right before the first command of a turn can be brought back', async () => {
    const { guard, manager, workspace } = await scene();
    const before = picture(workspace);
    const turnId = turnback.turnIdOf({});
    const run = (command: string) => runBash({ sandbox: workspace, command, guard, turnId });
    const first = await run('rm -rf sub && echo two > a.txt');
    expect(first).toMatchObject({ exitCode: 0, checkpoint: { outcome: 'created', late: false } });
    expect(await run('echo three > a.txt')).toMatchObject({ checkpoint: { outcome: 'already_covered' } });
    await manager.rollbackTo(first.checkpoint?.checkpointId as string);
    expect(picture(workspace)).toEqual(before);
  });

  it('P9: a hundred turns of eight parallel batches give a hundred checkpoints', async () => {
    const { batch, manager } = await scene({ 'a.txt': 'a' });
    for (let turn = 0; turn < 100; turn += 1) {
      const verdicts = await Promise.all(Array.from({ length: 8 }, () => batch(`t${turn}`)));
      expect(verdicts.map(({ outcome }) => outcome)).toEqual(['created', ...Array(7).fill('joined')]);
    }
    expect(await manager.listCheckpoints()).toHaveLength(100);
  });
});

it('F50: a workspace is only read: what is in it stays as it is', async () => {
  const home = temporary();
  const workspace = write(join(home, 'w'), { 'a.txt': 'a' });
  const before = picture(workspace);
  await using manager = await CheckpointManager.open({ store: join(home, 'store') });
  const [[, turnback]] = PACKAGES;
  const guard = turnback.createGuard({
    driver: localDriver(manager, workspace),
    enabled: () => true,
    timeoutMs: 60_000,
  });
  await guard.beforeBatch({ sandboxId: 'w', turnId: 't' });
  expect(picture(workspace)).toEqual(before);
  expect(existsSync(join(workspace, 'a.txt')) && readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('a');
});
