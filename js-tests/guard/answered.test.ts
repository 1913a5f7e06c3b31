// C12, G5, G10: a checkpoint that is there when a limit is over counts, and one that is given up is not left behind.
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointManager, localDriver, type SandboxCheckpoint } from 'turnback';
import { describe, expect, it } from 'vitest';
import { scene as store } from '../node/support.js';
import { type FakeDriver, noUnhandledRejections, PACKAGES, scene, settled } from './support.js';

noUnhandledRejections();

const LIMIT_MS = 10_000;

/** Where the guard looks for what a promise is certain of. */
const CERTAIN = Symbol.for('turnback.certain');

type Create = FakeDriver['createCheckpoint'];

describe.each(PACKAGES)('over the %s gate', (_, turnback) => {
  function asking(certain: () => unknown) {
    const all = scene(turnback);
    const { driver } = all;
    const create: Create = driver.createCheckpoint.bind(driver);
    driver.createCheckpoint = (request) => Object.defineProperty(create(request), CERTAIN, { value: certain });
    return { ...all, asked: all.batch('t') };
  }

  it('what the driver is certain of when the limit is over counts, once', async () => {
    let looks = 0;
    const { asked, batch, clock, driver, log } = asking(() => {
      looks += 1;
      return { checkpointId: 'v1' };
    });
    await clock.pass(LIMIT_MS - 1);
    expect(looks).toBe(0);
    await clock.pass(1);
    expect(await asked).toMatchObject({ outcome: 'created', protected: true, late: false, checkpointId: 'v1' });
    expect(looks).toBe(1);
    expect(driver.last.signal.aborted).toBe(false);
    driver.last.succeed();
    await settled();
    expect(await batch('t')).toMatchObject({ outcome: 'already_covered', checkpointId: 'v1' });
    expect(driver.deleted).toEqual([]);
    expect(log.warnings).toEqual([]);
  });

  it('another checkpoint that its promise gives after that is deleted', async () => {
    const { asked, batch, clock, driver } = asking(() => ({ checkpointId: 'v1' }));
    await clock.pass(LIMIT_MS);
    await asked;
    driver.last.succeed({ checkpointId: 'v2' });
    await settled();
    expect(driver.deleted).toEqual(['v2']);
    expect(await batch('t')).toMatchObject({ outcome: 'already_covered', checkpointId: 'v1' });
  });

  it('one that comes back to the guard with something is not asked for that again', async () => {
    let looks = 0;
    const all = asking(() => {
      looks += 1;
      all.guard.forget('elsewhere');
      void all.batch('t');
      return undefined;
    });
    await all.clock.pass(LIMIT_MS);
    expect(await all.asked).toMatchObject({ outcome: 'timed_out' });
    expect(looks).toBe(1);
  });

  it('a driver that wraps another one says by itself what is certain', async () => {
    const all = scene(turnback);
    const inner = asking(() => ({ checkpointId: 'v1' })).driver;
    const driver = {
      ...inner,
      createCheckpoint: async (request: Parameters<Create>[0]) => inner.createCheckpoint(request),
    };
    const guard = turnback.createGuard({ driver, enabled: () => true, clock: all.clock });
    const asked = guard.beforeBatch({ sandboxId: 's', turnId: 't' });
    await all.clock.pass(LIMIT_MS);
    expect(await asked).toMatchObject({ outcome: 'timed_out', protected: false });
  });

  it('a restores that asks the guard is not asked again for that', async () => {
    const all = scene(turnback);
    let looks = 0;
    all.driver.restores = () => {
      looks += 1;
      if (looks < 1_000) void all.batch('t');
      return 0;
    };
    let made = 0;
    all.driver.createCheckpoint = async () => {
      made += 1;
      return { checkpointId: `v${made}` };
    };
    expect(await all.batch('t')).toMatchObject({ protected: true });
    expect(looks).toBeLessThan(100);
  });

  it('whatever its promise says after that is not heard', async () => {
    const { asked, clock, driver, log } = asking(() => ({ checkpointId: 'v1' }));
    await clock.pass(LIMIT_MS);
    expect(await asked).toMatchObject({ outcome: 'created', checkpointId: 'v1' });
    driver.last.fail(new Error('no'));
    await settled();
    expect(log.warnings).toEqual([]);
  });

  it('also that it is paused, or that some files are missing', async () => {
    const paused = asking(() => ({ paused: true }));
    await paused.clock.pass(LIMIT_MS);
    expect(await paused.asked).toMatchObject({ outcome: 'skipped', reason: 'paused' });
    const partial = asking(() => ({ checkpointId: 'v1', partial: true }));
    await partial.clock.pass(LIMIT_MS);
    expect(await partial.asked).toMatchObject({ outcome: 'created', partial: true });
  });

  it.each<[string, () => unknown]>([
    ['nothing', () => undefined],
    ['a text', () => 'v1'],
    ['an id that is none', () => ({ checkpointId: '' })],
    ['an error', () => ({ checkpointId: 'v1', error: 'no' })],
    ['a promise', () => Promise.resolve({ checkpointId: 'v1' })],
    ['a promise that rejects', () => Promise.reject(new Error('no'))],
    [
      'an exception',
      () => {
        throw new Error('no');
      },
    ],
  ])('an answer that is %s counts as none: the limit holds', async (_name, certain) => {
    const { asked, clock, driver } = asking(certain);
    await clock.pass(LIMIT_MS);
    expect(await asked).toMatchObject({ outcome: 'timed_out', protected: false });
    expect(driver.last.signal.aborted).toBe(true);
    driver.last.succeed();
    await settled();
    expect(driver.deleted).toEqual(['v1']);
  });

  it('a success counts that is told after the limit, but before anybody was told that it is over', async () => {
    const { batch, clock, driver } = scene(turnback);
    const asked = batch('t');
    // The event loop was blocked: promises are settled before the timers that are overdue.
    clock.shown += 3 * LIMIT_MS;
    driver.last.succeed();
    expect(await asked).toMatchObject({ outcome: 'created', protected: true, checkpointId: 'v1' });
    expect(driver.deleted).toEqual([]);
  });

  it('a failure that is told after the limit is a time-out', async () => {
    const { batch, clock, driver } = scene(turnback);
    const asked = batch('t');
    clock.shown += 3 * LIMIT_MS;
    driver.last.fail(new Error('no'));
    expect(await asked).toMatchObject({ outcome: 'timed_out', protected: false });
  });

  it('a real checkpoint that is made while the event loop is blocked beyond the limit counts', async () => {
    const { manager, workspace } = await store();
    const local = localDriver(manager, workspace);
    let attempt: { [CERTAIN]?: () => unknown } = {};
    const driver = {
      ...local,
      createCheckpoint: (request: Parameters<typeof local.createCheckpoint>[0]) => {
        const made = local.createCheckpoint(request);
        attempt = made as typeof attempt;
        return made;
      },
    };
    let shown = 0;
    const wakes: (() => void)[] = [];
    const clock = {
      now: () => shown,
      schedule: (_ms: number, wake: () => void) => {
        wakes.push(wake);
        return () => {};
      },
    };
    const guard = turnback.createGuard({ driver, enabled: () => true, clock });
    const asked = guard.beforeBatch({ sandboxId: 'w', turnId: 't' });
    // Its looks at the workspace need the event loop; from when the engine works on, nothing is let through.
    const begun = () => readdirSync(join(manager.storePath, 'tmp')).length + published(manager).length > 0;
    while (!begun()) await new Promise(setImmediate);
    until(() => attempt[CERTAIN]?.() !== undefined);
    shown += 3 * LIMIT_MS;
    for (const wake of wakes) wake();
    const { checkpointId, ...verdict } = await asked;
    expect(verdict).toMatchObject({ outcome: 'created', protected: true, late: false });
    expect((await manager.listCheckpoints()).map((made) => made.checkpointId)).toEqual([checkpointId]);
  });
});

describe('given up when it is there already', () => {
  it('a checkpoint is answered, or it is gone', async () => {
    const { manager, workspace, store: place } = await store();
    const answered = new Set<string>();
    const driver = localDriver(manager, workspace);
    let seen = 0;
    for (let round = 0; round < 30; round += 1) {
      const controller = new AbortController();
      const { signal } = controller;
      const before = published(manager).length;
      const running = driver.createCheckpoint({ sandboxId: 'w', comment: `c${round}`, signal });
      const told = running.then(
        (answer) => answered.add(answer?.checkpointId as string),
        (error) => expect(error).toMatchObject({ code: 'ABORTED' }),
      );
      let over = false;
      void told.then(() => {
        over = true;
      });
      while (published(manager).length === before && !over) await new Promise(setImmediate);
      seen += published(manager).length > before ? 1 : 0;
      controller.abort();
      await told;
    }
    await manager.close();
    const after = await CheckpointManager.open({ store: place });
    const left = (await after.listCheckpoints()).map(({ checkpointId }: SandboxCheckpoint) => checkpointId);
    expect(left).toEqual([...answered]);
    expect(seen).toBeGreaterThan(0);
    await after.close();
  });
});

function published(manager: CheckpointManager): string[] {
  return readdirSync(join(manager.storePath, 'checkpoints'));
}

/** Blocks the event loop until something is so. */
function until(condition: () => boolean): void {
  const wait = new Int32Array(new SharedArrayBuffer(4));
  for (let tries = 0; tries < 20_000; tries += 1) {
    if (condition()) return;
    Atomics.wait(wait, 0, 0, 1);
  }
  throw new Error('it never came');
}
