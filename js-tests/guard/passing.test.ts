// G3, G5, G7, G8, C17: batches that pass without a checkpoint, that must not, and whose turn starts anew.
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { atOnce, noUnhandledRejections, PACKAGES, scene, settled } from './support.js';

noUnhandledRejections();

describe.each(PACKAGES)('the guard over the %s gate', (_, turnback) => {
  describe("onFailure: 'block'", () => {
    it('rejects with CHECKPOINT_REQUIRED, the verdict and the cause; nothing is late for a batch that did not run', async () => {
      const { batch, driver } = scene(turnback, { onFailure: 'block' });
      const cause = new Error('no');
      const asked = batch('t');
      driver.last.fail(cause);
      const error = await asked.catch((reason: unknown) => reason);
      expect(turnback.isTurnbackError(error)).toBe(true);
      expect(error).toMatchObject({
        code: 'CHECKPOINT_REQUIRED',
        retryable: true,
        cause,
        details: { verdict: { outcome: 'failed', reason: 'driver_failed', protected: false } },
      });
      const again = batch('t');
      driver.last.succeed();
      expect(await again).toMatchObject({ outcome: 'created', late: false });
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered' });
    });

    it('blocks time-outs, exhausted turns, batches that are none and those that were cancelled', async () => {
      const { batch, guard, driver, clock } = scene(turnback, { onFailure: 'block' });
      const reason = async (promise: Promise<unknown>) => {
        const error = await promise.catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ code: 'CHECKPOINT_REQUIRED' });
        return (error as { details: { verdict: { reason: string } } }).details.verdict.reason;
      };
      const slow = batch('t');
      const slowReason = reason(slow);
      await clock.pass(10_000);
      expect(await slowReason).toBe('unfinished');
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const asked = reason(batch('t'));
        driver.last.fail(new Error('no'));
        expect(await asked).toBe('driver_failed');
      }
      expect(await reason(batch('t'))).toBe('attempts_exhausted');
      expect(await reason(batch('x'.repeat(201)))).toBe('invalid_batch');
      const signal = AbortSignal.abort();
      expect(await atOnce(reason(guard.beforeBatch({ sandboxId: 's', turnId: 'u', signal })))).toBe('cancelled');
    });

    it('blocks five thousand batches at once', async () => {
      const { batch, driver } = scene(turnback, { onFailure: 'block' });
      const all = Promise.allSettled(Array.from({ length: 5_000 }, () => batch('t')));
      driver.last.fail(new Error('no'));
      const reasons = (await all).map((one) => (one.status === 'rejected' ? one.reason.details.verdict.reason : 'ran'));
      expect(new Set(reasons)).toEqual(new Set(['driver_failed']));
    });

    it('lets deliberate skips through', async () => {
      const off = scene(turnback, { onFailure: 'block', enabled: () => false });
      expect(await off.batch('t')).toMatchObject({ reason: 'flag_off' });
      const none = scene(turnback, { onFailure: 'block', driver: undefined });
      expect(await none.batch('t')).toMatchObject({ reason: 'no_driver' });
      const { batch, driver } = scene(turnback, { onFailure: 'block' });
      expect(await batch(undefined)).toMatchObject({ reason: 'no_turn_id' });
      driver.paused = true;
      expect(await batch('t')).toMatchObject({ reason: 'paused' });
    });
  });

  describe('skipped', () => {
    it('G7: without a turn id, or without a driver', async () => {
      const { batch, driver } = scene(turnback);
      expect(await batch(undefined)).toMatchObject({ outcome: 'skipped', reason: 'no_turn_id', protected: false });
      expect(driver.calls).toEqual([]);
      const none = scene(turnback, { driver: undefined });
      expect(await none.batch('t')).toMatchObject({ outcome: 'skipped', reason: 'no_driver' });
      none.guard.release({ sandboxId: 's', turnId: 't' });
      none.guard.forget('s');
    });

    it('G3: the flag is read at each batch', async () => {
      let on = false;
      const { batch, driver } = scene(turnback, { enabled: () => on });
      expect(await batch('t')).toMatchObject({ outcome: 'skipped', reason: 'flag_off' });
      on = true;
      const late = batch('t');
      driver.last.succeed();
      expect(await late).toMatchObject({ outcome: 'created', late: true });
      on = false;
      expect(await batch('t')).toMatchObject({ outcome: 'skipped', reason: 'flag_off', protected: true });
      expect(driver.calls).toHaveLength(1);
    });

    it('C17, F46: while the store is paused; it is asked only when a checkpoint might be made', async () => {
      const { batch, driver } = scene(turnback);
      let asked = 0;
      driver.isPaused = () => {
        asked += 1;
        return driver.paused;
      };
      const first = batch('t1');
      driver.last.succeed();
      await first;
      expect(asked).toBe(1);
      driver.paused = true;
      expect(await batch('t1')).toMatchObject({ outcome: 'already_covered' });
      expect(asked).toBe(1);
      expect(await batch('t2')).toMatchObject({ outcome: 'skipped', reason: 'paused' });
      driver.paused = false;
      const resumed = batch('t2');
      driver.last.succeed();
      expect(await resumed).toMatchObject({ outcome: 'created', late: true });
    });
  });

  describe('the batch’s own signal', () => {
    it('that has fired already: skipped, and the driver is not asked', async () => {
      const { guard, driver } = scene(turnback);
      const signal = AbortSignal.abort();
      expect(await atOnce(guard.beforeBatch({ sandboxId: 's', turnId: 't', signal }))).toMatchObject({
        outcome: 'skipped',
        reason: 'cancelled',
      });
      expect(driver.calls).toEqual([]);
    });

    it('that fires: the batch leaves at once, and the attempt with the last one', async () => {
      const { guard, batch, driver, log } = scene(turnback);
      const [one, two] = [new AbortController(), new AbortController()];
      const first = guard.beforeBatch({ sandboxId: 's', turnId: 't', signal: one.signal });
      const second = guard.beforeBatch({ sandboxId: 's', turnId: 't', signal: two.signal });
      one.abort();
      expect(await atOnce(first)).toMatchObject({ outcome: 'skipped', reason: 'cancelled' });
      expect(driver.last.signal.aborted).toBe(false);
      two.abort();
      expect(await atOnce(second)).toMatchObject({ outcome: 'skipped', reason: 'cancelled' });
      expect(driver.last.signal.aborted).toBe(true);
      driver.last.fail(driver.last.signal.reason);
      await settled();
      expect(log.warnings).toEqual([]);
      const next = batch('u');
      expect(driver.calls).toHaveLength(2);
      driver.last.succeed();
      expect(await next).toMatchObject({ outcome: 'created' });
    });

    it('that fires afterwards changes nothing, and no listener stays on it', async () => {
      const { guard, driver } = scene(turnback);
      const controller = new AbortController();
      const asked = guard.beforeBatch({ sandboxId: 's', turnId: 't', signal: controller.signal });
      driver.last.succeed();
      expect(await asked).toMatchObject({ outcome: 'created' });
      expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
      controller.abort();
    });

    it('is one listener for all batches that wait with it, and each hears of it', async () => {
      const { guard, driver } = scene(turnback);
      const controller = new AbortController();
      const { signal } = controller;
      const ask = (turnId: string) => guard.beforeBatch({ sandboxId: 's', turnId, signal });
      const first = ask('t');
      const all = [first, ...Array.from({ length: 20 }, () => ask('t'))];
      expect(getEventListeners(signal, 'abort')).toHaveLength(1);
      driver.last.succeed();
      await Promise.all(all);
      expect(getEventListeners(signal, 'abort')).toEqual([]);
      const waiting = Array.from({ length: 20 }, () => ask('u'));
      controller.abort();
      for (const verdict of await Promise.all(waiting)) expect(verdict).toMatchObject({ reason: 'cancelled' });
    });
  });

  it('one signal of many guards has one listener', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const all = Array.from({ length: 12 }, () => scene(turnback).guard);
    const asked = all.map((guard) => guard.beforeBatch({ sandboxId: 's', turnId: 't', signal }));
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    controller.abort();
    for (const verdict of await Promise.all(asked)) expect(verdict).toMatchObject({ reason: 'cancelled' });
  });

  describe('G8: release, forget, restores', () => {
    it('F29: a batch that was denied gives the slot back', async () => {
      const { guard, batch, driver } = scene(turnback);
      const denied = batch('t');
      driver.last.succeed();
      await denied;
      guard.release({ sandboxId: 's', turnId: 't' });
      const allowed = batch('t');
      expect(driver.calls).toHaveLength(2);
      driver.last.succeed();
      expect(await allowed).toMatchObject({ outcome: 'created', late: false, checkpointId: 'v2' });
    });

    it('the slot stays taken while another batch ran under the checkpoint, also one on the short way (W8)', async () => {
      const { guard, batch, driver } = scene(turnback);
      const first = batch('t');
      driver.last.succeed();
      await first;
      await batch('t');
      guard.release({ sandboxId: 's', turnId: 't' });
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered' });
    });

    it('forget: the next batch of the turn gets a new one', async () => {
      const { guard, batch, driver } = scene(turnback);
      const first = batch('t');
      driver.last.succeed();
      await first;
      guard.forget('other');
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered' });
      guard.forget('s');
      const again = batch('t');
      driver.last.succeed();
      expect(await again).toMatchObject({ outcome: 'created', checkpointId: 'v2' });
    });

    it('a restore that the driver tells of, between batches and during an attempt', async () => {
      const { batch, driver } = scene(turnback);
      const first = batch('t');
      driver.last.succeed();
      await first;
      driver.restored += 1;
      const again = batch('t');
      expect(driver.calls).toHaveLength(2);
      driver.restored += 1;
      driver.last.succeed();
      await settled();
      // What was pictured is gone: another one, for the same batch.
      expect(driver.calls).toHaveLength(3);
      driver.last.succeed();
      expect(await again).toMatchObject({ outcome: 'created', checkpointId: 'v3' });
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered' });
    });
  });
});
