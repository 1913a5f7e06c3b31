// G10: a driver whose ids come back. It is never asked to delete what a turn counts on, in whatever order the answers come; and
// what it may have deleted does not count.
import { describe, expect, it } from 'vitest';
import { noUnhandledRejections, PACKAGES, scene, settled } from './support.js';

noUnhandledRejections();

const SAME = { checkpointId: 'same' };

describe.each(PACKAGES)('over the %s gate', (_, turnback) => {
  /** A turn whose first attempt was given up, and whose retry is under way. */
  async function retrying() {
    const all = scene(turnback);
    const first = all.batch('t');
    await all.clock.pass(10_000);
    expect(await first).toMatchObject({ outcome: 'timed_out' });
    const retry = all.batch('t');
    const [given, again] = all.driver.calls;
    if (given === undefined || again === undefined) throw new Error('there is no retry');
    return { ...all, retry, given, again };
  }

  it('the late success comes first', async () => {
    const { batch, retry, given, again, driver } = await retrying();
    given.succeed(SAME);
    await settled();
    expect(driver.deleted).toEqual([]);
    again.succeed(SAME);
    expect(await retry).toMatchObject({ outcome: 'created', protected: true, checkpointId: 'same' });
    await settled();
    expect(driver.deleted).toEqual([]);
    expect(await batch('t')).toMatchObject({ outcome: 'already_covered', checkpointId: 'same' });
  });

  it('the retry comes first', async () => {
    const { batch, retry, given, again, driver } = await retrying();
    again.succeed(SAME);
    expect(await retry).toMatchObject({ outcome: 'created', protected: true });
    given.succeed(SAME);
    await settled();
    expect(driver.deleted).toEqual([]);
    expect(await batch('t')).toMatchObject({ outcome: 'already_covered', checkpointId: 'same' });
  });

  it('the retry fails', async () => {
    const { retry, given, again, driver } = await retrying();
    given.succeed(SAME);
    await settled();
    expect(driver.deleted).toEqual([]);
    again.fail(new Error('no'));
    expect(await retry).toMatchObject({ outcome: 'failed' });
    expect(driver.deleted).toEqual(['same']);
  });

  it('the retry fails first', async () => {
    const { retry, given, again, driver } = await retrying();
    again.fail(new Error('no'));
    await retry;
    given.succeed(SAME);
    await settled();
    expect(driver.deleted).toEqual(['same']);
  });

  it('the retry has an id of its own', async () => {
    const { retry, given, again, driver } = await retrying();
    given.succeed(SAME);
    await settled();
    again.succeed();
    expect(await retry).toMatchObject({ outcome: 'created', checkpointId: 'v2' });
    expect(driver.deleted).toEqual(['same']);
  });

  it('the retry is given up as well', async () => {
    const { retry, given, again, driver, clock } = await retrying();
    given.succeed(SAME);
    await clock.pass(10_000);
    await retry;
    expect(driver.deleted).toEqual(['same']);
    again.succeed(SAME);
    await settled();
    expect(driver.deleted).toEqual(['same', 'same']);
  });

  it('a retry that begins while it is being deleted does not count on it: nobody knows which of the two came last', async () => {
    const { batch, driver, clock } = scene(turnback);
    let deleted: () => void = () => {};
    driver.deleteCheckpoint = (id) => {
      driver.deleted.push(id);
      return new Promise((resolve) => {
        deleted = resolve;
      });
    };
    const first = batch('t');
    await clock.pass(10_000);
    await first;
    driver.calls[0]?.succeed(SAME);
    await settled();
    expect(driver.deleted).toEqual(['same']);

    const second = batch('t');
    driver.last.succeed(SAME);
    expect(await second).toMatchObject({ outcome: 'failed', reason: 'driver_failed', protected: false });
    expect(driver.deleted).toEqual(['same', 'same']);

    deleted();
    await settled();
    const other = batch('u');
    deleted();
    await settled();
    driver.last.succeed();
    expect(await other).toMatchObject({ outcome: 'created' });
  });

  it('one that begins when it has been deleted does', async () => {
    const { batch, driver, clock } = scene(turnback);
    const first = batch('t');
    await clock.pass(10_000);
    await first;
    driver.calls[0]?.succeed(SAME);
    await settled();
    const second = batch('t');
    driver.last.succeed(SAME);
    expect(await second).toMatchObject({ outcome: 'created', protected: true, checkpointId: 'same' });
    expect(driver.deleted).toEqual(['same']);
  });

  it('ids that say what is in a checkpoint: an earlier turn keeps its own', async () => {
    const { batch, driver, clock } = scene(turnback);
    const first = batch('a');
    driver.last.succeed(SAME);
    await first;
    const second = batch('b');
    await clock.pass(10_000);
    await second;
    driver.last.succeed(SAME);
    await settled();
    expect(driver.deleted).toEqual([]);
    expect(await batch('a')).toMatchObject({ outcome: 'already_covered', checkpointId: 'same' });
  });
});
