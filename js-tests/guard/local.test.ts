// G8, C12, C17, F46, F50: the guard with the engine's own checkpoints.
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointManager, createSandbox, localDriver, runBash, TurnbackError } from 'turnback';
import { describe, expect, it, onTestFinished } from 'vitest';
import { picture, rejection, scene as store, temporary, UNKNOWN_ID, write } from '../node/support.js';
import { holdLock } from './lock.js';
import { FakeClock, FakeLog, type GuardOptions, noUnhandledRejections, PACKAGES, settled, watch } from './support.js';

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

  describe('G8: a restore by any manager of this thread', () => {
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

    it('one that restored nothing changes nothing: the turn stays covered, and a turn that ran unprotected is late', async () => {
      let on = true;
      const { batch, manager, workspace, store: directory } = await scene(undefined, { enabled: () => on });
      const { checkpointId = '' } = await batch('t');
      on = false;
      expect(await batch('unprotected')).toMatchObject({ outcome: 'skipped', protected: false });
      on = true;
      const lock = holdLock(join(directory, 'locks', await manager.sandboxIdOf(workspace)));
      expect(await rejection(manager.rollbackTo(checkpointId, { deadlineMs: 1000 }))).toMatchObject({ code: 'BUSY' });
      await lock.release();
      for (const [code, options] of [
        ['ABORTED', { signal: AbortSignal.abort() }],
        ['NOT_FOUND', { paths: ['no/such/path'] }],
      ] as const) {
        expect(await rejection(manager.rollbackTo(checkpointId, options))).toMatchObject({ code });
      }
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered', checkpointId });
      expect(await batch('unprotected')).toMatchObject({ outcome: 'created', late: true });
    });

    it('G6: one of some paths keeps a turn late that ran unprotected, and its checkpoint counts no more', async () => {
      let on = true;
      const { batch, manager, workspace } = await scene(undefined, { enabled: () => on });
      const { checkpointId = '' } = await batch('t');
      on = false;
      await batch('unprotected');
      on = true;
      writeFileSync(join(workspace, 'a.txt'), 'changed');
      expect(await manager.rollbackTo(checkpointId, { paths: ['a.txt'] })).toMatchObject({ written: 1 });
      expect(await batch('unprotected')).toMatchObject({ outcome: 'created', late: true });
      expect(await batch('t')).toMatchObject({ outcome: 'created', late: true });
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered' });
    });

    it('G6: a batch that ran during it is not forgotten', async () => {
      let on = true;
      const { batch, manager, workspace, store: directory } = await scene(undefined, { enabled: () => on });
      const { checkpointId = '' } = await batch('t');
      writeFileSync(join(workspace, 'a.txt'), 'changed');
      const lock = holdLock(join(directory, 'locks', await manager.sandboxIdOf(workspace)));
      const rollback = watch(manager.rollbackTo(checkpointId));
      on = false;
      expect(await batch('other')).toMatchObject({ outcome: 'skipped', protected: false });
      on = true;
      expect(rollback.done()).toBe(false);
      await lock.release();
      expect(await rollback.promise).toMatchObject({ restored: true, written: 1 });
      expect(await batch('other')).toMatchObject({ outcome: 'created', late: true });
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

  it('C17: no attempt of a pause counts as a failure, and the turn is still tried after the fourth', async () => {
    const { batch, manager } = await scene();
    await manager.pause();
    const paused = { outcome: 'skipped', reason: 'paused' };
    expect(await Promise.all([batch('t'), batch('t')])).toMatchObject([paused, paused]);
    for (let more = 0; more < 3; more += 1) expect(await batch('t')).toMatchObject(paused);
    await manager.resume();
    expect(await batch('t')).toMatchObject({ outcome: 'created', late: true });
  });

  describe('G9: a deletion by any manager of this thread', () => {
    it.each(['the same manager', 'another manager of the same store'])('%s', async (which) => {
      const { batch, driver, manager, store: directory } = await scene();
      const { checkpointId = '' } = await batch('t');
      expect(driver.isDeleted(checkpointId)).toBe(false);
      let deleter = manager;
      if (which !== 'the same manager') {
        const other = await CheckpointManager.open({ store: directory });
        onTestFinished(() => other.close());
        deleter = other;
      }
      expect(await deleter.deleteCheckpoint(UNKNOWN_ID)).toBe(false);
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered', checkpointId });
      expect(await deleter.deleteCheckpoint(checkpointId)).toBe(true);
      expect(driver.isDeleted(checkpointId)).toBe(true);
      const next = await batch('t');
      expect(next).toMatchObject({ outcome: 'created', late: true });
      expect(next.checkpointId).not.toBe(checkpointId);
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered', checkpointId: next.checkpointId });
    });
  });

  describe('G9: a deletion that is under way', () => {
    it.each([
      ['deleteCheckpoint', (manager: CheckpointManager, id: string) => manager.deleteCheckpoint(id)],
      ['prune', (manager: CheckpointManager) => manager.prune({ keepLast: 1 })],
    ] as const)('%s: nobody counts on what may be gone already', async (_name, remove) => {
      const { batch, driver, manager, workspace } = await scene();
      const { checkpointId = '' } = await batch('t');
      const pinned = await manager.createCheckpoint(workspace, 'p', 'manual');
      await manager.pin(pinned.checkpointId, true);
      const newest = await manager.createCheckpoint(workspace, 'p', 'manual');
      const removal = watch<unknown>(remove(manager, checkpointId));
      let seen = false;
      // A look in each turn of the event loop: without a note beforehand none can see it.
      while (!removal.done()) {
        seen ||= driver.isDeleted(checkpointId);
        expect(driver.isDeleted(pinned.checkpointId)).toBe(false);
        await settled();
      }
      await removal.promise;
      expect(seen).toBe(true);
      expect(driver.isDeleted(checkpointId)).toBe(true);
      expect(driver.isDeleted(newest.checkpointId)).toBe(false);
    });
  });

  describe('a driver is for one sandbox: of another it would make checkpoints of the wrong directory', () => {
    const refused = { outcome: 'failed', reason: 'driver_failed', protected: false };

    it('the first name that is used stays', async () => {
      const { guard, manager } = await scene();
      const ask = (sandboxId: string) => guard.beforeBatch({ sandboxId, turnId: 't' });
      expect(await ask('a')).toMatchObject({ outcome: 'created' });
      expect(await ask('b')).toMatchObject(refused);
      expect(await ask('a')).toMatchObject({ outcome: 'already_covered' });
      expect(await manager.listCheckpoints()).toHaveLength(1);
    });

    it('an id that the package gave to another sandbox or directory is refused, also if it is the first', async () => {
      const { driver, manager, workspace, home } = await scene();
      const other = write(join(home, 'other'), { x: 'x' });
      const inPlace = (resource: string) => createSandbox({ resource, strategy: 'none', checkpoints: manager });
      const [own, foreign] = [await inPlace(workspace), await inPlace(other)];
      const { signal } = new AbortController();
      const digest = `directory-sha256-${'0'.repeat(64)}`;
      const ofSandbox = localDriver(manager, own);
      for (const [which, wrong] of [
        [driver, foreign.id],
        [driver, digest],
        [ofSandbox, foreign.id],
        [ofSandbox, digest],
      ] as const) {
        const made = which.createCheckpoint({ sandboxId: wrong, comment: 'c', signal });
        expect(await rejection(made)).toMatchObject({ code: 'INVALID_ARGUMENT' });
      }
      expect(await manager.listCheckpoints()).toEqual([]);
      const right = { sandboxId: own.id, comment: 'c', signal };
      expect(await ofSandbox.createCheckpoint(right)).toMatchObject({ partial: false });
    });

    it('a path or an id of the store has to be that of the directory, also if it is the first', async () => {
      const { driver, manager, workspace, home } = await scene();
      const other = write(join(home, 'other'), { x: 'x' });
      const { signal } = new AbortController();
      const make = (sandboxId: string) => driver.createCheckpoint({ sandboxId, comment: 'c', signal });
      for (const wrong of [other, await manager.sandboxIdOf(other)]) {
        expect(await rejection(make(wrong))).toMatchObject({ code: 'INVALID_ARGUMENT' });
      }
      expect(await manager.listCheckpoints()).toEqual([]);
      for (const right of [workspace, `${home}/./other/../work`, await manager.sandboxIdOf(workspace), 'a name']) {
        expect(await make(right)).toMatchObject({ partial: false });
      }
    });

    it('with runBash in another directory the command runs, unprotected', async () => {
      const { guard, home, manager } = await scene();
      const other = write(join(home, 'other'), { x: 'x' });
      const run = await runBash({ sandbox: other, command: 'echo ran', guard, turnId: 't' });
      expect(run).toMatchObject({ stdout: 'ran\n', checkpoint: refused });
      expect(await manager.listCheckpoints()).toEqual([]);
    });
  });

  describe('C12, F50: time-outs and aborts', () => {
    it('the limit ends the wait, nothing is left and nothing published late, and the workspace is free again', async () => {
      const { batch, driver, manager, workspace, store: directory } = await scene();
      await batch('earlier');
      const clock = new FakeClock();
      const hasty = turnback.createGuard({ driver, clock, enabled: () => true, timeoutMs: 60_000 });
      const lock = holdLock(join(directory, 'locks', await manager.sandboxIdOf(workspace)));
      const asked = hasty.beforeBatch({ sandboxId: 'w', turnId: 't' });
      await clock.pass(60_000);
      expect(await asked).toMatchObject({ outcome: 'timed_out', reason: 'unfinished', protected: false });
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

    it('a workspace that others use until the limit: the driver says so before it is over, and the next batch may try again', async () => {
      const { driver, manager, workspace, store: directory } = await scene();
      // The guard's own clock stands still: what ends the wait is the engine's deadline, which is earlier.
      const logger = new FakeLog();
      const guard = turnback.createGuard({
        driver,
        clock: new FakeClock(),
        logger,
        enabled: () => true,
        timeoutMs: 2000,
      });
      const lock = holdLock(join(directory, 'locks', await manager.sandboxIdOf(workspace)));
      expect(await guard.beforeBatch({ sandboxId: 'w', turnId: 't' })).toMatchObject({
        outcome: 'failed',
        reason: 'driver_failed',
        protected: false,
      });
      const [warning, ...more] = logger.lines.filter(({ level }) => level === 'warn');
      expect(more).toEqual([]);
      expect(warning?.fields.err).toMatchObject({ code: 'BUSY', retryable: true, details: { path: workspace } });
      expect(String(warning?.fields.err)).toContain('the workspace is in use by another checkpoint or rollback');
      await lock.release();
      expect(await guard.beforeBatch({ sandboxId: 'w', turnId: 't' })).toMatchObject({
        outcome: 'created',
        late: true,
      });
    });

    it.each([
      ['TIMED_OUT', 'timed_out', 'unfinished'],
      ['BUSY', 'failed', 'driver_failed'],
    ] as const)('an engine that ends with %s shortly before the limit: %s', async (code, outcome, reason) => {
      const { manager, workspace } = await scene();
      const deadlines: unknown[] = [];
      const slow: unknown = {
        isPaused: () => manager.isPaused(),
        sandboxIdOf: (directory: string) => manager.sandboxIdOf(directory),
        createCheckpoint: async (...[, , , , options]: Parameters<typeof manager.createCheckpoint>) => {
          deadlines.push(options?.deadlineMs);
          throw new TurnbackError(code, 'the engine says so', { retryable: true });
        },
      };
      const clock = new FakeClock();
      const driver = localDriver(slow as CheckpointManager, workspace);
      const guard = turnback.createGuard({ driver, clock, enabled: () => true, timeoutMs: 100_000 });
      const asked = watch(guard.beforeBatch({ sandboxId: 'w', turnId: 't' }));
      while (deadlines.length === 0) await settled();
      await settled();
      // What was merely too slow is for the guard to say, at its limit.
      expect(asked.done()).toBe(code === 'BUSY');
      await clock.pass(100_000);
      expect(await asked.promise).toMatchObject({ outcome, reason, protected: false });
      expect(deadlines).toEqual([expect.any(Number)]);
      expect(deadlines[0]).toBeLessThanOrEqual(99_900);
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

  it('P9, C16: a hundred turns of eight parallel batches give a hundred checkpoints, of which the last fifty stay', async () => {
    const { batch, manager } = await scene({ 'a.txt': 'a' });
    const made: (string | undefined)[] = [];
    for (let turn = 0; turn < 100; turn += 1) {
      const verdicts = await Promise.all(Array.from({ length: 8 }, () => batch(`t${turn}`)));
      expect(verdicts.map(({ outcome }) => outcome)).toEqual(['created', ...Array(7).fill('joined')]);
      made.push(verdicts[0]?.checkpointId);
    }
    expect(new Set(made).size).toBe(100);
    const listed = await manager.listCheckpoints();
    expect(listed.map(({ checkpointId }) => checkpointId)).toEqual(made.slice(50));
  });
});

it('G9: a checkpoint that the store itself removed to make room protects nothing any more', async () => {
  const home = temporary();
  const noise = () => randomBytes(400_000).toString('latin1');
  const workspace = write(join(home, 'w'), { 'a.bin': noise() });
  const other = write(join(home, 'other'), {});
  const options = { store: join(home, 'store'), maxBytes: 4 << 20 };
  await using manager = await CheckpointManager.open(options);
  await using elsewhere = await CheckpointManager.open(options);
  const [[, turnback]] = PACKAGES;
  const guard = turnback.createGuard({
    driver: localDriver(manager, workspace),
    enabled: () => true,
    timeoutMs: 60_000,
  });
  const batch = () => guard.beforeBatch({ sandboxId: 'w', turnId: 't' });
  const { checkpointId = '' } = await batch();
  expect(await batch()).toMatchObject({ outcome: 'already_covered', checkpointId });
  // By another manager of this process: the engine knows of all.
  for (let at = 0; (await manager.getCheckpoint(checkpointId)) !== undefined && at < 50; at += 1) {
    write(other, { 'b.bin': noise() });
    await elsewhere.createCheckpoint(other, 'p', 'pre_batch');
  }
  expect(await manager.getCheckpoint(checkpointId)).toBeUndefined();
  expect(await batch()).toMatchObject({ outcome: 'created', late: true, protected: true });
});

it('G9: a checkpoint protects nothing any more once its ephemeral store is closed', async () => {
  const manager = await CheckpointManager.open({ store: 'ephemeral' });
  const [[, turnback]] = PACKAGES;
  const driver = localDriver(manager, write(join(temporary(), 'w'), { 'a.txt': 'a' }));
  const guard = turnback.createGuard({ driver, enabled: () => true, timeoutMs: 60_000 });
  const batch = () => guard.beforeBatch({ sandboxId: 'w', turnId: 't' });
  await batch();
  expect(await batch()).toMatchObject({ outcome: 'already_covered' });
  await manager.close();
  expect(await batch()).toMatchObject({ outcome: 'failed', protected: false });
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

it('of 10,000 deletions all are known, and afterwards the oldest ids count as deleted', async () => {
  const { manager, workspace } = await store({ 'a.txt': 'a' });
  const driver = localDriver(manager, workspace);
  const { signal } = new AbortController();
  const make = async () =>
    (await driver.createCheckpoint({ sandboxId: 'w', comment: 'c', signal }))?.checkpointId ?? '';
  const [first, second] = [await make(), await make()];
  await manager.deleteCheckpoint(first);
  // Ids that no checkpoint has, all of them older than these two.
  const id = (number: number) => `0${String(number).padStart(25, '0')}`;
  for (let from = 0; from < 10_000; from += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, at) => manager.deleteCheckpoint(id(from + at))));
  }
  expect([first, id(0), second].map((one) => driver.isDeleted(one))).toEqual([true, true, false]);
  expect(driver.isDeleted(await make())).toBe(false);
});
