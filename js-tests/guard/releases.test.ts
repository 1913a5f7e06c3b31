// G1, G8, G9: a release is for one batch. That batch is taken back and no other: neither one that waits, nor one that ran since.
import { describe, expect, it } from 'vitest';
import { atOnce, noUnhandledRejections, PACKAGES, scene, settled } from './support.js';

noUnhandledRejections();

describe.each(PACKAGES)('over the %s gate', (_, turnback) => {
  it("one of two is cancelled and released with its own object: the other's checkpoint is the turn's, and no late one", async () => {
    const { guard, batch, driver } = scene(turnback);
    const cancel = new AbortController();
    const first = { sandboxId: 's', turnId: 't', signal: cancel.signal };
    const [one, two] = [guard.beforeBatch(first), batch('t')];
    cancel.abort();
    expect(await one).toMatchObject({ outcome: 'skipped', reason: 'cancelled' });
    guard.release(first);
    driver.last.succeed();
    expect(await two).toMatchObject({ outcome: 'created', late: false });
    expect(await batch('t')).toMatchObject({ outcome: 'already_covered', late: false });
    expect(driver.calls).toHaveLength(1);
  });

  it('a release that names no batch may be for either: the turn keeps its checkpoint, which is called late', async () => {
    const { guard, batch, driver } = scene(turnback);
    const cancel = new AbortController();
    const one = guard.beforeBatch({ sandboxId: 's', turnId: 't', signal: cancel.signal });
    const two = batch('t');
    cancel.abort();
    await one;
    guard.release({ sandboxId: 's', turnId: 't' });
    driver.last.succeed();
    expect(await two).toMatchObject({ outcome: 'created', late: true });
    expect(await batch('t')).toMatchObject({ outcome: 'already_covered' });
  });

  describe("onFailure: 'block'", () => {
    it('a batch that is cancelled does not run: the others get a timely checkpoint, and nobody is refused under it', async () => {
      const { guard, batch, driver } = scene(turnback, { onFailure: 'block' });
      const cancel = new AbortController();
      const one = guard.beforeBatch({ sandboxId: 's', turnId: 't', signal: cancel.signal });
      const refused = expect(one).rejects.toMatchObject({ code: 'CHECKPOINT_REQUIRED' });
      const two = batch('t');
      cancel.abort();
      await refused;
      driver.last.succeed();
      expect(await two).toMatchObject({ outcome: 'created', late: false });
      expect(await atOnce(batch('t'))).toMatchObject({ outcome: 'already_covered' });
      expect(driver.calls).toHaveLength(1);
    });

    it('so does one whose own limit is over while others wait on', async () => {
      const { batch, driver, clock } = scene(turnback, { onFailure: 'block' });
      const before = batch('before');
      const early = batch('t');
      const refused = expect(early).rejects.toMatchObject({ code: 'CHECKPOINT_REQUIRED' });
      await clock.pass(3_000);
      const later = batch('t');
      await clock.pass(3_000);
      driver.last.succeed();
      await before;
      await clock.pass(4_000);
      await refused;
      driver.last.succeed();
      expect(await later).toMatchObject({ outcome: 'created', late: false });
      expect(await atOnce(batch('t'))).toMatchObject({ outcome: 'already_covered' });
      expect(driver.calls).toHaveLength(2);
    });
  });

  it('a release from before a restore does not make a batch that ran since forgotten, whether it names its batch or not', async () => {
    for (const named of [true, false]) {
      const { guard, batch, driver } = scene(turnback);
      const first = { sandboxId: 's', turnId: 't' };
      const made = guard.beforeBatch(first);
      driver.last.succeed();
      await made;
      guard.forget('s');
      const again = batch('t');
      driver.last.succeed();
      expect(await again).toMatchObject({ outcome: 'created', checkpointId: 'v2' });
      guard.release(named ? first : { ...first });
      expect(await atOnce(batch('t'))).toMatchObject({ outcome: 'already_covered', checkpointId: 'v2' });
    }
  });

  it('a batch is released once, however often that is said with its own object', async () => {
    for (const covered of [false, true]) {
      const { guard, batch, driver } = scene(turnback);
      const mine = { sandboxId: 's', turnId: 't' };
      const asked = covered ? [batch('t')] : [batch('t'), guard.beforeBatch(mine)];
      driver.last.succeed();
      await Promise.all(asked);
      if (covered) await atOnce(guard.beforeBatch(mine));
      guard.release(mine);
      guard.release(mine);
      expect(await atOnce(batch('t')), String(covered)).toMatchObject({ outcome: 'already_covered', late: false });
    }
  });

  it('an object that is used for several batches names none of them', async () => {
    const { guard, driver } = scene(turnback);
    const batch = { sandboxId: 's', turnId: 't' };
    const made = guard.beforeBatch(batch);
    driver.last.succeed();
    await made;
    guard.forget('s');
    const again = guard.beforeBatch(batch);
    driver.last.succeed();
    await again;
    guard.release(batch);
    expect(await atOnce(guard.beforeBatch(batch))).toMatchObject({ outcome: 'already_covered', checkpointId: 'v2' });
  });

  it('nor one that was first covered by an earlier checkpoint', async () => {
    const { guard, batch, driver } = scene(turnback);
    const one = batch('t');
    driver.last.succeed();
    await one;
    const used = { sandboxId: 's', turnId: 't' };
    expect(await guard.beforeBatch(used)).toMatchObject({ outcome: 'already_covered' });
    guard.forget('s');
    const again = guard.beforeBatch(used);
    driver.last.succeed();
    await again;
    guard.release(used);
    expect(await atOnce(batch('t'))).toMatchObject({ outcome: 'already_covered', checkpointId: 'v2' });
  });

  it('a release from before six other turns does not either', async () => {
    const { guard, batch, driver } = scene(turnback);
    for (const turn of ['t', 'a', 'b', 'c', 'd', 'e', 'f', 't']) {
      const asked = batch(turn);
      driver.last.succeed();
      expect((await asked).outcome).toBe('created');
    }
    guard.release({ sandboxId: 's', turnId: 't' });
    expect(await atOnce(batch('t'))).toMatchObject({ outcome: 'already_covered', checkpointId: 'v8' });
  });

  it('forget gives the attempt under way up at once, and has what it still makes deleted (G8, G10)', async () => {
    const { guard, batch, driver } = scene(turnback);
    const asked = batch('t');
    const [stale] = driver.calls;
    guard.forget('s');
    expect(stale?.signal.aborted).toBe(true);
    expect(driver.calls).toHaveLength(2);
    stale?.succeed();
    driver.last.succeed();
    expect(await asked).toMatchObject({ outcome: 'created', late: false, checkpointId: 'v2' });
    await settled();
    expect(driver.deleted).toEqual(['v1']);
  });

  it('a driver whose number of restores is another at each look is asked three times for a batch, not without end (G6)', async () => {
    const { batch, driver, log } = scene(turnback);
    driver.restores = () => {
      driver.restored += 1;
      return driver.restored;
    };
    const asked = batch('t');
    for (let at = 0; at < 10; at += 1) {
      for (const call of driver.calls) call.succeed();
      await settled();
    }
    expect(await atOnce(asked)).toMatchObject({ outcome: 'failed', reason: 'attempts_exhausted', protected: false });
    expect(driver.calls.length).toBeLessThanOrEqual(3);
    expect(log.warnings).toEqual(['no checkpoint was made before a batch: too many attempts of its turn have failed']);
  });

  it('deletions that never settle cost no attempt more than the last did, and still protect nobody (G10)', async () => {
    const { batch, driver, clock } = scene(turnback, { timeoutMs: 100 });
    driver.deleteCheckpoint = (id: string) => {
      driver.deleted.push(id);
      return new Promise(() => {});
    };
    for (let at = 0; at < 1_100; at += 1) {
      const late = batch(`late-${at}`);
      await clock.pass(100);
      await late;
      driver.last.succeed({ checkpointId: `v${at}` });
    }
    await settled();
    expect(driver.deleted).toHaveLength(1_100);
    const asked = batch('t');
    driver.last.succeed({ checkpointId: 'v1099' });
    expect(await asked).toMatchObject({ outcome: 'failed', reason: 'driver_failed' });
  });
});
