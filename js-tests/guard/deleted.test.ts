// G9: a checkpoint that somebody else deleted in the middle of its turn protects nothing any more.
import { describe, expect, it } from 'vitest';
import { noUnhandledRejections, PACKAGES, scene, settled } from './support.js';

noUnhandledRejections();

describe.each(PACKAGES)('over the %s gate', (_, turnback) => {
  /** A turn whose checkpoint v1 has been made, and covers some batches. */
  async function covered(batches = 1) {
    const all = scene(turnback);
    const asked = all.batch('t');
    all.driver.last.succeed();
    await asked;
    for (let at = 0; at < batches; at += 1) {
      expect(await all.batch('t')).toMatchObject({ outcome: 'already_covered', checkpointId: 'v1' });
    }
    return all;
  }

  it.each([0, 1, 2, 300])(
    'after %s covered batches: the next batch gets another checkpoint, a late one',
    async (batches) => {
      const { batch, driver, log } = await covered(batches);
      driver.gone.add('v1');
      const asked = batch('t');
      expect(driver.calls).toHaveLength(2);
      driver.last.succeed();
      expect(await asked).toMatchObject({ outcome: 'created', late: true, protected: true, checkpointId: 'v2' });
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered', late: true, checkpointId: 'v2' });
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered', late: true, checkpointId: 'v2' });
      expect(driver.calls).toHaveLength(2);
      expect(log.warnings).toEqual([]);
    },
  );

  it('a batch that is denied instead is not counted: after its release nothing has run', async () => {
    const { batch, driver, guard } = await covered(0);
    guard.release({ sandboxId: 's', turnId: 't' });
    driver.gone.add('v1');
    const asked = batch('t');
    driver.last.succeed();
    expect(await asked).toMatchObject({ outcome: 'created', late: false, checkpointId: 'v2' });
  });

  it('one of two: as many releases as batches, and the next checkpoint is no late one', async () => {
    const { batch, driver, guard } = await covered(1);
    driver.gone.add('v1');
    const failing = batch('t');
    driver.last.fail(new Error('no'));
    expect(await failing).toMatchObject({ outcome: 'failed', protected: false });
    for (let at = 0; at < 3; at += 1) guard.release({ sandboxId: 's', turnId: 't' });
    const asked = batch('t');
    driver.last.succeed();
    expect(await asked).toMatchObject({ outcome: 'created', late: false });
  });

  describe('a turn that six others displaced', () => {
    async function displaced() {
      const all = await covered(1);
      for (const turn of ['a', 'b', 'c', 'd', 'e', 'f']) await made(all, turn);
      return all;
    }
    async function made({ batch, driver }: Awaited<ReturnType<typeof covered>>, turn: string, sandbox?: string) {
      const calls = driver.calls.length;
      const asked = batch(turn, sandbox);
      expect(driver.calls).toHaveLength(calls + 1);
      driver.last.succeed();
      return await asked;
    }

    it('ran without a checkpoint if its own was deleted: the next one is late, and only that', async () => {
      const all = await displaced();
      all.driver.gone.add('v1');
      expect(await made(all, 't')).toMatchObject({ outcome: 'created', late: true, protected: true });
      expect(await made(all, 'new')).toMatchObject({ outcome: 'created', late: false });
    });

    it('is not late while its checkpoint is there', async () => {
      expect(await made(await displaced(), 't')).toMatchObject({ outcome: 'created', late: false });
    });

    it.each([
      ['guard.forget', (all: Awaited<ReturnType<typeof covered>>) => all.guard.forget('s')],
      [
        'a restore',
        (all: Awaited<ReturnType<typeof covered>>) => {
          all.driver.restored += 1;
        },
      ],
    ])('after %s it has not run in the sandbox as it is now', async (_name, forget) => {
      const all = await displaced();
      forget(all);
      all.driver.gone.add('v1');
      expect(await made(all, 't')).toMatchObject({ outcome: 'created', late: false });
    });

    it('is known among the last 1,024 checkpoints, in whichever sandboxes', async () => {
      const all = await displaced();
      for (let at = 0; at < 1_017; at += 1) await made(all, 't', `another${at}`);
      all.driver.gone.add('v1');
      expect(await made(all, 't')).toMatchObject({ outcome: 'created', late: true });
    });
  });

  it('a checkpoint under which one of two batches ran is remembered for the other', async () => {
    const { batch, driver, guard } = await covered(1);
    guard.release({ sandboxId: 's', turnId: 't' });
    for (const turn of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const asked = batch(turn);
      driver.last.succeed();
      await asked;
    }
    driver.gone.add('v1');
    const asked = batch('t');
    driver.last.succeed();
    expect(await asked).toMatchObject({ outcome: 'created', late: true });
  });

  it('eight batches at once share the new one', async () => {
    const { batch, driver } = await covered(3);
    driver.gone.add('v1');
    const eight = Array.from({ length: 8 }, () => batch('t'));
    expect(driver.calls).toHaveLength(2);
    driver.last.succeed();
    const verdicts = await Promise.all(eight);
    expect(verdicts.map(({ outcome }) => outcome)).toEqual(['created', ...Array(7).fill('joined')]);
    expect(verdicts.every(({ late }) => late)).toBe(true);
  });

  it('a batch that is skipped is not called protected', async () => {
    let enabled = true;
    const { batch, driver } = scene(turnback, { enabled: () => enabled });
    const asked = batch('t');
    driver.last.succeed();
    await asked;
    enabled = false;
    expect(await batch('t')).toMatchObject({ reason: 'flag_off', protected: true, checkpointId: 'v1' });
    driver.gone.add('v1');
    const verdict = await batch('t');
    expect(verdict).toMatchObject({ reason: 'flag_off', protected: false, late: false });
    expect(verdict).not.toHaveProperty('checkpointId');
  });

  it('when something else is due at that moment, too', async () => {
    const { batch, driver, clock } = await covered(1);
    clock.shown += 23 * 3_600_000;
    expect(await batch('t')).toMatchObject({ outcome: 'already_covered' });
    // The day since the first batch is over: the gate has a look at its sandboxes before it answers.
    clock.shown += 2 * 3_600_000;
    driver.gone.add('v1');
    const asked = batch('t');
    expect(driver.calls).toHaveLength(2);
    driver.last.succeed();
    expect(await asked).toMatchObject({ outcome: 'created', late: true });
  });

  it('other turns and sandboxes keep theirs', async () => {
    const { batch, driver } = await covered(1);
    for (const [turn, sandbox] of [
      ['u', 's'],
      ['t', 'other'],
    ] as const) {
      const asked = batch(turn, sandbox);
      driver.last.succeed();
      await asked;
    }
    driver.gone.add('v1');
    expect(await batch('u')).toMatchObject({ outcome: 'already_covered', checkpointId: 'v2' });
    expect(await batch('t', 'other')).toMatchObject({ outcome: 'already_covered', checkpointId: 'v3' });
  });

  it('one that is gone before anybody could count on it is a failure', async () => {
    const { batch, driver, log } = scene(turnback);
    const asked = batch('t');
    driver.gone.add('v1');
    driver.last.succeed();
    expect(await asked).toMatchObject({ outcome: 'failed', reason: 'driver_failed', protected: false });
    expect(log.warnings).toHaveLength(1);
  });

  it('a driver that calls every checkpoint deleted costs each turn three attempts at most', async () => {
    const { batch, driver } = scene(turnback);
    driver.isDeleted = () => true;
    for (let at = 0; at < 5; at += 1) {
      const asked = batch('t');
      driver.last.succeed();
      expect((await asked).protected).toBe(false);
    }
    expect(driver.calls).toHaveLength(3);
  });

  it('a driver that cannot say has deleted nothing, with one warning', async () => {
    const { batch, driver, log } = await covered(0);
    for (const isDeleted of [() => 'yes', () => Promise.reject(new Error('no'))]) {
      driver.isDeleted = isDeleted as never;
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered' });
    }
    await settled();
    expect(log.warnings).toHaveLength(1);
  });
});
