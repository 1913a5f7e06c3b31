// W8: batches of covered turns pass without asking the gate. It has to be as if it had been asked each time: what it counts, which
// turns it remembers, when it forgets.
import { describe, expect, it } from 'vitest';
import { noUnhandledRejections, PACKAGES, scene } from './support.js';

noUnhandledRejections();

describe.each(PACKAGES)('over the %s gate', (_, turnback) => {
  async function withTurns(...turns: string[]) {
    const all = scene(turnback);
    for (const turn of turns) {
      const asked = all.batch(turn);
      all.driver.last.succeed();
      await asked;
    }
    return all;
  }

  it('each batch counts: the slot is given back when all of them were denied, and not before (G8)', async () => {
    for (const covered of [1, 2, 7]) {
      const { batch, guard, driver } = await withTurns('a', 'b');
      for (let at = 0; at < covered; at += 1) {
        expect((await batch('a')).outcome).toBe('already_covered');
        expect((await batch('b')).outcome).toBe('already_covered');
      }
      for (let at = 0; at < covered; at += 1) guard.release({ sandboxId: 's', turnId: 'a' });
      expect((await batch('a')).outcome).toBe('already_covered');
      for (let at = 0; at < 2; at += 1) guard.release({ sandboxId: 's', turnId: 'a' });
      const again = batch('a');
      driver.last.succeed();
      expect(await again).toMatchObject({ outcome: 'created', late: false });
      expect((await batch('b')).outcome).toBe('already_covered');
    }
  });

  it('the turns used last are remembered: the seventh displaces the one unused longest (G4)', async () => {
    const { batch, driver } = await withTurns('a', 'b', 'c', 'd', 'e', 'f');
    for (const turn of ['b', 'a', 'b', 'c', 'a']) expect((await batch(turn)).outcome).toBe('already_covered');
    for (const turn of ['g', 'h', 'i']) {
      const asked = batch(turn);
      driver.last.succeed();
      await asked;
    }
    const calls = driver.calls.length;
    // d, e and f were not used since; b was, before c and a.
    for (const turn of ['a', 'b', 'c', 'g', 'h', 'i']) expect((await batch(turn)).outcome).toBe('already_covered');
    expect(driver.calls).toHaveLength(calls);
    const displaced = batch('d');
    driver.last.succeed();
    expect((await displaced).outcome).toBe('created');
  });

  it('each turn passes under its own checkpoint, in whatever order they come', async () => {
    const turns = ['a', 'b', 'c', 'd', 'e'];
    const { batch } = await withTurns(...turns);
    for (const turn of 'abcdebdacebbadcedacbeeabdcacedb') {
      expect(await batch(turn)).toMatchObject({
        outcome: 'already_covered',
        checkpointId: `v${turns.indexOf(turn) + 1}`,
      });
    }
  });

  it('a sandbox in use is not forgotten; one that is not is, to the millisecond (G8)', async () => {
    const HOUR = 3_600_000;
    for (const [gap, outcome] of [
      [24 * HOUR - 1, 'already_covered'],
      [24 * HOUR, 'created'],
    ] as const) {
      const { batch, driver, clock } = await withTurns('a');
      for (let hour = 0; hour < 30; hour += 1) {
        clock.shown += HOUR;
        expect((await batch('a')).outcome).toBe('already_covered');
      }
      clock.shown += gap;
      const asked = batch('a');
      driver.last.succeed();
      expect((await asked).outcome).toBe(outcome);
    }
  });

  it('more turns and sandboxes at once than are told apart', async () => {
    const { batch, driver, guard } = await withTurns();
    const places = Array.from({ length: 1_100 }, (_, at) => [`t${at % 2}`, `s${at >> 1}`] as const);
    for (const [turn, sandbox] of places) {
      const asked = batch(turn, sandbox);
      driver.last.succeed();
      await asked;
    }
    for (let round = 0; round < 3; round += 1) {
      for (const [turn, sandbox] of places) expect((await batch(turn, sandbox)).outcome).toBe('already_covered');
    }
    expect(driver.calls).toHaveLength(places.length);
    for (const sandbox of ['s0', 's300', 's549']) {
      const release = () => guard.release({ sandboxId: sandbox, turnId: 't0' });
      for (let at = 0; at < 3; at += 1) release();
      expect((await batch('t0', sandbox)).outcome).toBe('already_covered');
      release();
      release();
      const again = batch('t0', sandbox);
      driver.last.succeed();
      expect(await again).toMatchObject({ outcome: 'created', late: false });
    }
  });

  it('many batches of few turns are counted while they pass, and none is lost', async () => {
    const { batch, guard, driver } = await withTurns(...'abcdef');
    for (let at = 0; at < 40; at += 1) {
      for (const sandbox of ['x', 'y', 'z']) {
        for (const turn of 'abcdef') {
          const asked = batch(turn, sandbox);
          if (at === 0) driver.last.succeed();
          await asked;
        }
      }
      for (let more = 0; more < 5; more += 1) for (const turn of 'abcdef') await batch(turn);
    }
    expect(driver.calls).toHaveLength(24);
    for (let at = 0; at < 200; at += 1) guard.release({ sandboxId: 's', turnId: 'a' });
    expect((await batch('a')).outcome).toBe('already_covered');
    guard.release({ sandboxId: 's', turnId: 'a' });
    guard.release({ sandboxId: 's', turnId: 'a' });
    const again = batch('a');
    driver.last.succeed();
    expect((await again).outcome).toBe('created');
  });
});
