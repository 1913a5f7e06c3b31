// C12, P11: the store's file system is frozen in the middle of a write. The guard answers all the same, and nothing is published late.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointManager, createGuard, localDriver } from 'turnback';
import { expect, it } from 'vitest';
import { rejection, temporary, write } from '../node/support.js';
import { aWorkerStaysThere, freeze, mounted, thaw } from './frozen-disk.js';
import { isLocked } from './lock.js';
import { FakeClock, FakeLog, noUnhandledRejections } from './support.js';

noUnhandledRejections();

it('C12: the guard answers while it is frozen, later callers hear BUSY; afterwards nothing of that is there, and the next succeeds', async (context) => {
  const there = mounted();
  if ('reason' in there) return context.skip(there.reason);
  const store = join(there.mount, 'store');
  const workspace = write(join(temporary(), 'w'), { 'a.txt': 'one' });
  const manager = await CheckpointManager.open({ store });
  const driver = localDriver(manager, workspace);
  const lock = join(store, 'locks', await manager.sandboxIdOf(workspace));
  const guard = createGuard({ driver, enabled: () => true, timeoutMs: 60_000 });
  expect(await guard.beforeBatch({ sandboxId: 'w', turnId: 'before' })).toMatchObject({ outcome: 'created' });
  write(workspace, { 'b.txt': 'two' });

  if (!freeze(there.mount)) return context.skip('fsfreeze is not possible here');
  try {
    // The first hangs in a write until its guard's limit, which is this clock's.
    const clock = new FakeClock();
    const hanging = createGuard({ driver, clock, enabled: () => true, timeoutMs: 60_000 });
    const asked = hanging.beforeBatch({ sandboxId: 'w', turnId: 'frozen' });
    await aWorkerStaysThere();
    expect(isLocked(lock)).toBe(true);
    await clock.pass(60_000);
    expect(await asked).toMatchObject({ outcome: 'timed_out', reason: 'unfinished', protected: false });
    // Nobody waits for its worker any more, and yet that keeps the workspace's lock: it may still be at it.
    expect(isLocked(lock)).toBe(true);
    const logger = new FakeLog();
    const later = createGuard({ driver, clock: new FakeClock(), logger, enabled: () => true, timeoutMs: 2000 });
    const verdict = await later.beforeBatch({ sandboxId: 'w', turnId: 'again' });
    expect(verdict).toMatchObject({ outcome: 'failed', reason: 'driver_failed', protected: false });
    expect(logger.lines.map(({ fields }) => fields.err)).toMatchObject([{ code: 'BUSY', retryable: true }]);
    const called = rejection(manager.createCheckpoint(workspace, 'p', 'manual', {}, { deadlineMs: 1000 }));
    expect(await called).toMatchObject({ code: 'BUSY' });
  } finally {
    thaw(there.mount);
  }
  // The lock is free as soon as the worker has ended.
  expect(await guard.beforeBatch({ sandboxId: 'w', turnId: 'after' })).toMatchObject({ outcome: 'created' });
  await manager.close();
  await using again = await CheckpointManager.open({ store });
  const turns = (await again.listCheckpoints()).map(({ metadata }) => metadata.turnId);
  expect(turns).toEqual(['before', 'after']);
  expect(readdirSync(join(store, 'tmp'))).toEqual([]);
  expect(await again.verify()).toMatchObject({ ok: true });
});
