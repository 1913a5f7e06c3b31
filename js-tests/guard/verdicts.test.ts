// G1, G4–G6, G9, G10: what the guard says, with a driver and a clock that the test moves.
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
