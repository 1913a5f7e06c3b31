// P4: what a recording says of batches and attempts: when the agent would have begun, how long it ran, what the driver did.
import { describe, expect, it } from 'vitest';
import { noUnhandledRejections } from '../guard/support.js';
import { rejection } from '../node/support.js';
import { scene } from './support.js';

noUnhandledRejections();

const destructive = { sandbox: 's', kind: 'destructive' } as const;

describe('when the agent would have begun', () => {
  it('what its batches waited is taken off again, also from all that came later', async () => {
    const { clock, driver, recording, asked, lines } = await scene();
    await clock.pass(1000);
    const first = asked('a');
    await clock.pass(100);
    driver.last.succeed();
    await first.verdict;
    await clock.pass(500);
    recording.ended(first.batch);
    await clock.pass(30);
    const second = asked('a');
    await second.verdict;
    await clock.pass(70);
    recording.ended(second.batch);
    await clock.pass(3000);
    const third = asked('b');
    await clock.pass(40);
    driver.last.succeed();
    await third.verdict;
    await clock.pass(5);
    recording.ended(third.batch);
    const fourth = asked(undefined, 's');
    await fourth.verdict;
    await clock.pass(1);
    recording.ended(fourth.batch);
    const { head, batches, report } = await lines();
    expect(head).toEqual({ version: 1, name: expect.stringMatching(/^recorded 20\d\d-/), batches: [] });
    expect(batches).toEqual([
      { ...destructive, turn: 'a', startMs: 1000, durationMs: 500, attempt: { ms: 100, outcome: 'succeeded' } },
      { ...destructive, turn: 'a', startMs: 1530, durationMs: 70 },
      { ...destructive, turn: 'b', startMs: 4600, durationMs: 5, attempt: { ms: 40, outcome: 'succeeded' } },
      { ...destructive, turn: null, startMs: 4605, durationMs: 1 },
    ]);
    expect(report).toMatchObject({ batches: 4, complete: true });
  });

  it('calls side by side push one another only where one came after the other', async () => {
    const { clock, driver, recording, asked, lines } = await scene({}, { ends: 'told' });
    const [one, two] = [asked('a'), asked('a')];
    await clock.pass(100);
    driver.last.succeed();
    await Promise.all([one.verdict, two.verdict]);
    await clock.pass(50);
    // While the first two run: nothing that waited is behind it.
    const three = asked('a');
    await three.verdict;
    await clock.pass(50);
    for (const { batch } of [two, one, three]) recording.ended(batch);
    const four = asked('a');
    await four.verdict;
    recording.ended(four.batch);
    const { batches } = await lines();
    expect(batches.map(({ startMs, durationMs, attempt }) => [startMs, durationMs, attempt?.ms])).toEqual([
      [0, 100, 100],
      [0, 100, 100],
      [150, 50, undefined],
      [100, 0, undefined],
    ]);
  });

  it('each sandbox has a time of its own', async () => {
    const { clock, driver, recording, asked, lines } = await scene();
    const one = asked('a', 'one');
    await clock.pass(100);
    driver.last.succeed();
    await one.verdict;
    recording.ended(one.batch);
    const two = asked('a', 'two');
    await clock.pass(10);
    driver.last.succeed();
    await two.verdict;
    recording.ended(two.batch);
    const { batches } = await lines();
    expect(batches.map(({ sandbox, startMs }) => [sandbox, startMs])).toEqual([
      ['one', 0],
      ['two', 100],
    ]);
  });

  it('a clock that is set back, or breaks, makes no time negative', async () => {
    const { clock, driver, recording, asked, lines } = await scene();
    await clock.pass(100);
    const one = asked('a');
    driver.last.succeed();
    await one.verdict;
    clock.shown -= 1_000_000;
    recording.ended(one.batch);
    clock.now = () => Number.NaN;
    const two = asked('a');
    await two.verdict;
    clock.now = () => {
      throw new Error('no clock');
    };
    recording.ended(two.batch);
    const { batches } = await lines();
    expect(batches.map(({ startMs, durationMs }) => [startMs, durationMs])).toEqual([
      [100, 0],
      [100, 0],
    ]);
  });
});

describe('how long a batch ran of which nobody says the end', () => {
  it('until the next of its turn asks; at the end of a turn, nothing', async () => {
    const { clock, driver, asked, lines } = await scene();
    const one = asked('a');
    driver.last.succeed();
    await one.verdict;
    await clock.pass(300);
    await asked('a').verdict;
    await clock.pass(60_000);
    const three = asked('b');
    driver.last.succeed();
    await three.verdict;
    await clock.pass(7);
    const { batches } = await lines();
    expect(batches.map(({ turn, startMs, durationMs }) => [turn, startMs, durationMs])).toEqual([
      ['a', 0, 300],
      ['a', 300, 0],
      ['b', 60_300, 0],
    ]);
  });

  it('with ends: told, until the recording ends', async () => {
    const { clock, driver, asked, lines } = await scene({}, { ends: 'told' });
    const one = asked('a');
    driver.last.succeed();
    await one.verdict;
    await clock.pass(300);
    await asked('a').verdict;
    await clock.pass(50);
    const { batches } = await lines();
    expect(batches.map(({ durationMs }) => durationMs)).toEqual([350, 50]);
  });

  it('so many are open at the same time: then the oldest end', async () => {
    const { clock, driver, asked, lines } = await scene({}, { ends: 'told' });
    const first = asked('a');
    driver.last.succeed();
    await first.verdict;
    await clock.pass(5);
    for (let at = 0; at < 10_001; at += 1) await asked('a').verdict;
    await clock.pass(5);
    const { batches } = await lines();
    expect(batches).toHaveLength(10_002);
    expect(batches.slice(0, 3).map(({ durationMs }) => durationMs)).toEqual([5, 0, 5]);
  });
});

describe('what the driver did', () => {
  it('fails', async () => {
    const { clock, driver, recording, asked, lines } = await scene();
    const one = asked('a');
    await clock.pass(20);
    driver.last.fail(new Error('no'));
    expect(await one.verdict).toMatchObject({ outcome: 'failed' });
    recording.ended(one.batch);
    // The next of the turn tries again and leads the second attempt (G6).
    const two = asked('a');
    await clock.pass(30);
    driver.last.succeed();
    expect(await two.verdict).toMatchObject({ outcome: 'created', late: true });
    recording.ended(two.batch);
    const { batches } = await lines();
    expect(batches.map(({ attempt }) => attempt)).toEqual([
      { ms: 20, outcome: 'failed' },
      { ms: 30, outcome: 'succeeded' },
    ]);
  });

  it('answers when nobody waits any more, or never', async () => {
    const { clock, driver, recording, asked, lines } = await scene({ timeoutMs: 1000 });
    const late = asked('a');
    await clock.pass(1000);
    expect(await late.verdict).toMatchObject({ outcome: 'timed_out' });
    await clock.pass(500);
    driver.last.succeed();
    await clock.pass(1);
    recording.ended(late.batch);
    const never = asked('b');
    await clock.pass(1000);
    await never.verdict;
    driver.last.fail(new Error('given up'));
    await clock.pass(1);
    recording.ended(never.batch);
    const { batches } = await lines();
    expect(batches.map(({ turn, attempt }) => [turn, attempt])).toEqual([
      ['a', { ms: 1500, outcome: 'succeeded' }],
      ['b', { ms: 1000, outcome: 'stalled' }],
    ]);
  });

  it('is told of the batch that led and of those that joined, each turn with its own', async () => {
    const { clock, driver, recording, asked, lines } = await scene();
    const [lead, joined, other] = [asked('a'), asked('a'), asked('b')];
    await clock.pass(10);
    driver.last.succeed();
    await Promise.all([lead.verdict, joined.verdict]);
    await clock.pass(25);
    driver.last.succeed();
    expect(await other.verdict).toMatchObject({ outcome: 'created', durationMs: 35 });
    for (const { batch } of [lead, joined, other]) recording.ended(batch);
    const { batches } = await lines();
    expect(batches.map(({ turn, attempt }) => [turn, attempt?.ms])).toEqual([
      ['a', 10],
      ['a', 10],
      ['b', 25],
    ]);
  });

  it('nothing, where it was not asked, or is paused', async () => {
    const { driver, recording, asked, lines } = await scene();
    driver.paused = true;
    const one = asked('a');
    expect(await one.verdict).toMatchObject({ reason: 'paused' });
    recording.ended(one.batch);
    driver.paused = false;
    const two = asked('b');
    driver.last.succeed({ paused: true });
    expect(await two.verdict).toMatchObject({ reason: 'paused' });
    recording.ended(two.batch);
    const { batches } = await lines();
    expect(batches.map(({ attempt }) => attempt)).toEqual([undefined, undefined]);
  });
});

describe('which batches', () => {
  it('one that must not run takes no time and pushes nothing back', async () => {
    const { clock, driver, recording, asked, lines } = await scene({ onFailure: 'block' });
    const one = asked('a');
    await clock.pass(20);
    driver.last.fail(new Error('no'));
    expect(await rejection(one.verdict)).toMatchObject({ code: 'CHECKPOINT_REQUIRED' });
    await clock.pass(20);
    const two = asked('b');
    driver.last.succeed();
    await two.verdict;
    recording.ended(two.batch);
    const { batches } = await lines();
    expect(batches).toEqual([
      { ...destructive, turn: 'a', startMs: 0, durationMs: 0, attempt: { ms: 20, outcome: 'failed' } },
      { ...destructive, turn: 'b', startMs: 40, durationMs: 0, attempt: { ms: 0, outcome: 'succeeded' } },
    ]);
  });

  it('none that did not run after all, was given up, or is none', async () => {
    const { driver, guard, asked, lines } = await scene();
    const released = asked('a');
    driver.last.succeed();
    await released.verdict;
    guard.release(released.batch as { sandboxId: string; turnId: string });
    const other = asked('b');
    driver.last.succeed();
    await other.verdict;
    guard.release({ sandboxId: 's', turnId: 'b' });
    const abort = new AbortController();
    const cancelled = asked('c', 's', { signal: abort.signal });
    abort.abort();
    expect(await cancelled.verdict).toMatchObject({ reason: 'cancelled' });
    for (const nonsense of [
      undefined,
      {},
      { sandboxId: 7 },
      { sandboxId: '', turnId: 't' },
      { sandboxId: 's', turnId: 7 },
    ]) {
      expect(await guard.beforeBatch(nonsense as never)).toMatchObject({ reason: 'invalid_batch' });
    }
    const unreadable = {
      get sandboxId(): string {
        throw new Error('no');
      },
    };
    expect(await guard.beforeBatch(unreadable)).toMatchObject({ reason: 'invalid_batch' });
    const { batches } = await lines();
    expect(batches).toEqual([]);
  });

  it('G14: what is proven to only read is told from the rest, also where that makes no difference to the guard', async () => {
    const { driver, asked, recording, lines } = await scene();
    const commands = ['ls -l', ['ls', 'cat a.txt'], 'rm a.txt', ['ls', 'rm a.txt'], [], undefined];
    for (const command of commands) {
      const { batch, verdict } = asked('a', 's', { command });
      if (driver.calls.length === 1) driver.last.succeed();
      await verdict;
      recording.ended(batch);
    }
    const { batches } = await lines();
    const kinds = ['read_only', 'read_only', 'destructive', 'destructive', 'destructive', 'destructive'];
    expect(batches.map(({ kind }) => kind)).toEqual(kinds);
  });
});
