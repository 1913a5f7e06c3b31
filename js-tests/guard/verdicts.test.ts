// G1, G4–G6, G8–G10, C17: what the guard says, with a driver and a clock that the test moves.
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { FakeClock, FakeDriver, noUnhandledRejections, PACKAGES, scene, settled, watch } from './support.js';

noUnhandledRejections();

describe.each(PACKAGES)('the guard over the %s gate', (_, turnback) => {
  describe('G9: verdicts', () => {
    it('created, then already_covered without asking the driver', async () => {
      const { batch, driver, clock } = scene(turnback);
      const first = batch('t1');
      await clock.pass(120);
      driver.last.succeed();
      expect(await first).toEqual({
        outcome: 'created',
        protected: true,
        late: false,
        partial: false,
        reason: 'new_turn',
        checkpointId: 'v1',
        durationMs: 120,
      });
      expect(await batch('t1')).toEqual({
        outcome: 'already_covered',
        protected: true,
        late: false,
        partial: false,
        reason: 'same_turn',
        checkpointId: 'v1',
        durationMs: 0,
      });
      expect(driver.calls).toHaveLength(1);
    });

    it('are frozen', async () => {
      const { batch, driver } = scene(turnback);
      const first = batch('t');
      driver.last.succeed();
      expect(Object.isFrozen(await first)).toBe(true);
      expect(Object.isFrozen(await batch('t'))).toBe(true);
      expect(Object.isFrozen(await batch(undefined))).toBe(true);
    });

    it('say when the checkpoint is partial, or has no id', async () => {
      const { batch, driver } = scene(turnback);
      const first = batch('t1');
      driver.last.succeed({ checkpointId: 'x', partial: true });
      expect(await first).toMatchObject({ outcome: 'created', partial: true, checkpointId: 'x' });
      expect(await batch('t1')).toMatchObject({ outcome: 'already_covered', partial: true, checkpointId: 'x' });
      const second = batch('t2');
      driver.last.succeed({});
      expect(await second).not.toHaveProperty('checkpointId');
      expect(await batch('t2')).toMatchObject({ outcome: 'already_covered', partial: false, protected: true });
    });

    it('the driver is told the sandbox, the comment and a signal, and nothing else', async () => {
      const seen: unknown[] = [];
      const driver = {
        createCheckpoint: async (request: unknown) => {
          seen.push(request);
        },
      };
      const { guard } = scene(turnback, { driver, prefix: 'mine' });
      await guard.beforeBatch({ sandboxId: 's', turnId: 'a b' });
      expect(seen).toEqual([{ sandboxId: 's', comment: 'mine-pre-agent-a%20b', signal: expect.any(AbortSignal) }]);
    });
  });

  describe('G1, G4: one checkpoint a turn', () => {
    it('registers in the same tick: the driver is asked before beforeBatch returns', () => {
      const { batch, driver } = scene(turnback);
      void batch('t');
      expect(driver.calls).toHaveLength(1);
    });

    it('F28: eight parallel batches share one, and the next turn one millisecond later gets one more', async () => {
      const { batch, driver, clock } = scene(turnback);
      const eight = Array.from({ length: 8 }, () => batch('t1'));
      const watched = eight.map(watch);
      await settled();
      expect(driver.calls).toHaveLength(1);
      expect(watched.some(({ done }) => done())).toBe(false);
      driver.last.succeed();
      const outcomes = (await Promise.all(eight)).map(({ outcome }) => outcome);
      expect(outcomes).toEqual(['created', ...Array(7).fill('joined')]);
      await clock.pass(1);
      const next = batch('t2');
      expect(driver.calls).toHaveLength(2);
      driver.last.succeed();
      expect(await next).toMatchObject({ outcome: 'created', checkpointId: 'v2' });
    });

    it('A, B, A, B give one each', async () => {
      const { batch, driver } = scene(turnback);
      const outcomes: string[] = [];
      for (const turn of ['a', 'b', 'a', 'b']) {
        const asked = batch(turn);
        driver.last.succeed();
        outcomes.push((await asked).outcome);
      }
      expect(outcomes).toEqual(['created', 'created', 'already_covered', 'already_covered']);
      expect(driver.calls).toHaveLength(2);
    });

    it("another turn never joins: it waits for the first one's end and gets its own", async () => {
      const { batch, driver } = scene(turnback);
      const a = batch('a');
      const b = watch(batch('b'));
      await settled();
      expect(driver.calls).toHaveLength(1);
      driver.last.succeed();
      expect(await a).toMatchObject({ outcome: 'created' });
      await settled();
      expect([driver.calls.length, b.done()]).toEqual([2, false]);
      driver.last.succeed();
      expect(await b.promise).toMatchObject({ outcome: 'created', checkpointId: 'v2' });
    });

    it('sandboxes do not wait for each other', async () => {
      const { batch, driver } = scene(turnback);
      void batch('t', 'one');
      const two = batch('t', 'two');
      expect(driver.calls.map(({ sandboxId }) => sandboxId)).toEqual(['one', 'two']);
      driver.last.succeed();
      expect(await two).toMatchObject({ outcome: 'created' });
      driver.calls[0]?.succeed();
    });
  });

  describe('G5, G6: failures and time-outs', () => {
    it('a failure lets the batch run, is one warning, and the next batch of the turn gets a late one', async () => {
      const { batch, driver, log } = scene(turnback);
      const two = [batch('t'), batch('t')];
      const cause = new Error('the disk is full');
      driver.last.fail(cause);
      for (const verdict of await Promise.all(two)) {
        expect(verdict).toMatchObject({ outcome: 'failed', protected: false, reason: 'driver_failed' });
      }
      expect(log.lines).toEqual([
        { level: 'warn', message: expect.any(String), fields: { sandboxId: 's', turnId: 't', err: cause } },
      ]);
      const again = batch('t');
      driver.last.succeed();
      expect(await again).toMatchObject({ outcome: 'created', late: true, protected: true });
      expect(await batch('t')).toMatchObject({ outcome: 'already_covered', late: true });
    });

    it('F15: three failures in one turn, the fourth batch does not wait, the next turn tries again', async () => {
      const { batch, driver, log } = scene(turnback);
      for (let attempt = 0; attempt < 3; attempt += 1) {
        const asked = batch('t');
        driver.last.fail(new Error('no'));
        expect(await asked).toMatchObject({ outcome: 'failed', reason: 'driver_failed' });
      }
      expect(await batch('t')).toMatchObject({ outcome: 'failed', reason: 'attempts_exhausted' });
      expect(await batch('t')).toMatchObject({ outcome: 'failed', reason: 'attempts_exhausted' });
      expect(driver.calls).toHaveLength(3);
      expect(log.warnings).toHaveLength(4);
      const next = batch('next');
      driver.last.succeed();
      expect(await next).toMatchObject({ outcome: 'created', late: false });
    });

    it('a driver that never settles costs ten seconds, is aborted, and is one warning', async () => {
      const { batch, driver, clock, log } = scene(turnback);
      const two = [watch(batch('t')), watch(batch('t'))];
      await clock.pass(9_999);
      expect(two.map(({ done }) => done())).toEqual([false, false]);
      expect(driver.last.signal.aborted).toBe(false);
      await clock.pass(1);
      for (const { promise } of two) {
        expect(await promise).toMatchObject({ outcome: 'timed_out', reason: 'unfinished', durationMs: 10_000 });
      }
      expect(driver.last.signal.aborted).toBe(true);
      expect(driver.last.signal.reason).toMatchObject({ code: 'ABORTED' });
      driver.last.fail(driver.last.signal.reason);
      await settled();
      expect(log.warnings).toHaveLength(1);
    });

    it('F35: after a time-out the next batch, and the next turn, try again', async () => {
      const { batch, driver, clock } = scene(turnback, { timeoutMs: 50 });
      const first = batch('t');
      await clock.pass(50);
      expect(await first).toMatchObject({ outcome: 'timed_out' });
      const again = batch('t');
      driver.last.succeed();
      expect(await again).toMatchObject({ outcome: 'created', late: true });
      const next = batch('next');
      driver.last.succeed();
      expect(await next).toMatchObject({ outcome: 'created', late: false });
    });

    it('the limit includes queueing behind another turn', async () => {
      const { batch, driver, clock, log } = scene(turnback);
      void batch('a');
      await clock.pass(1);
      const b = [batch('b'), batch('b')];
      // A's own limit ends first and B's attempt starts, with a millisecond left.
      await clock.pass(9_999);
      expect(driver.calls).toHaveLength(2);
      await clock.pass(1);
      expect(await b[0]).toMatchObject({ outcome: 'timed_out', reason: 'unfinished', durationMs: 10_000 });
      expect(await b[1]).toMatchObject({ outcome: 'timed_out' });
      expect(driver.calls[1]?.signal.aborted).toBe(true);
      expect(log.warnings).toHaveLength(2);
    });

    it('timed out while queued: the reason says so, and no attempt was made', async () => {
      const { batch, driver, clock, log } = scene(turnback);
      // They came at the same instant, so that all their limits end together and b's turn never comes.
      void batch('a');
      const b = [batch('b'), batch('b')];
      await clock.pass(10_000);
      for (const verdict of await Promise.all(b)) {
        expect(verdict).toMatchObject({ outcome: 'timed_out', reason: 'queued', durationMs: 10_000 });
      }
      expect(driver.calls).toHaveLength(1);
      expect(log.warnings).toHaveLength(2);
    });

    it('G10: a late success counts for nothing and is deleted', async () => {
      const { batch, driver, clock } = scene(turnback);
      const first = batch('t');
      await clock.pass(10_000);
      await first;
      driver.last.succeed({ checkpointId: 'late' });
      await settled();
      expect(driver.deleted).toEqual(['late']);
      const again = batch('t');
      expect(driver.calls).toHaveLength(2);
      driver.last.succeed();
      expect(await again).toMatchObject({ outcome: 'created', checkpointId: 'v2', late: true });
    });

    it('leaves no timer behind when nobody waits', async () => {
      const { batch, driver, clock } = scene(turnback);
      const asked = batch('t');
      expect(clock.timers).toBe(1);
      driver.last.succeed();
      await asked;
      expect(clock.timers).toBe(0);
      const stuck = batch('u');
      await clock.pass(10_000);
      await stuck;
      expect(clock.timers).toBe(0);
    });
  });

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
      expect(await reason(guard.beforeBatch({ sandboxId: 's', turnId: 'u', signal }))).toBe('cancelled');
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
      expect(await guard.beforeBatch({ sandboxId: 's', turnId: 't', signal })).toMatchObject({
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
      expect(await first).toMatchObject({ outcome: 'skipped', reason: 'cancelled' });
      expect(driver.last.signal.aborted).toBe(false);
      two.abort();
      expect(await second).toMatchObject({ outcome: 'skipped', reason: 'cancelled' });
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

  describe('the clock', () => {
    it.each([
      ['set back by an hour', -3_600_000],
      ['set back to before everything', -1e13],
      ['standing still', Number.NaN],
    ])('%s in the middle of an attempt: the batch still goes on when its timer fires', async (_name, shift) => {
      const { batch, clock } = scene(turnback);
      const asked = watch(batch('t'));
      await clock.pass(5_000);
      clock.shown += shift;
      await clock.pass(10_000);
      expect(asked.done()).toBe(true);
      expect(await asked.promise).toMatchObject({ outcome: 'timed_out' });
    });

    it('set back between turns: every turn gets its checkpoint', async () => {
      const { batch, clock, driver } = scene(turnback);
      for (const turn of ['a', 'b', 'c']) {
        const asked = batch(turn);
        driver.last.succeed();
        expect(await asked).toMatchObject({ outcome: 'created' });
        clock.shown -= 86_400_000;
      }
    });

    it('a sandbox unused for a day is swept: its turn counts as new', async () => {
      const { batch, clock, driver } = scene(turnback);
      const first = batch('t');
      driver.last.succeed();
      await first;
      await clock.pass(24 * 3_600_000);
      const again = batch('t');
      driver.last.succeed();
      expect(await again).toMatchObject({ outcome: 'created', checkpointId: 'v2' });
    });
  });

  it('P9: a thousand turns of eight parallel batches give a thousand checkpoints', async () => {
    let made = 0;
    const driver = {
      createCheckpoint: async () => {
        made += 1;
        return { checkpointId: `c${made}` };
      },
    };
    const guard = turnback.createGuard({ driver, enabled: () => true });
    for (let round = 1; round <= 1000; round += 1) {
      const turnId = `t${round}`;
      const batches = Array.from({ length: 8 }, () => guard.beforeBatch({ sandboxId: 's', turnId }));
      const verdicts = await Promise.all(batches);
      expect(verdicts.filter(({ outcome }) => outcome === 'created')).toHaveLength(1);
      expect(verdicts.every((verdict) => verdict.checkpointId === `c${round}`)).toBe(true);
      expect(made).toBe(round);
    }
  });

  it('two guards know nothing of each other', async () => {
    const [one, two] = [new FakeDriver(), new FakeDriver()];
    const clock = new FakeClock();
    for (const driver of [one, two]) {
      const guard = turnback.createGuard({ driver, clock, enabled: () => true });
      const asked = guard.beforeBatch({ sandboxId: 's', turnId: 't' });
      driver.last.succeed();
      expect(await asked).toMatchObject({ outcome: 'created' });
    }
  });
});
