// G5: a clock that jumps to the end of time disables nothing.
import { describe, expect, it } from 'vitest';
import { atOnce, noUnhandledRejections, PACKAGES, scene } from './support.js';

noUnhandledRejections();

describe.each(PACKAGES)('over the %s gate', (_, turnback) => {
  it.each([
    ['2^53', [0, 2 ** 53]],
    ['2^65', [0, 2 ** 65]],
    ['the largest number', [0, Number.MAX_VALUE]],
    ['more than the largest number', [-Number.MAX_VALUE, Number.MAX_VALUE]],
    ['2^52, again and again', [0, 2 ** 52 - 1, 2 ** 52, 2 ** 53, 2 ** 54, 2 ** 55]],
    ['2^51, three times', [0, 2 ** 51, 2 ** 52, 2 ** 52 + 2 ** 51]],
  ])('a jump of %s: checkpoints are made before it and after it, and limits end', async (_name, jumps) => {
    const { batch, driver, clock, log } = scene(turnback);
    for (const shown of jumps) {
      clock.shown = shown;
      const asked = batch(`at ${shown}`);
      driver.last.succeed();
      expect(await atOnce(asked)).toMatchObject({ outcome: 'created', protected: true });
      expect(await atOnce(batch(`at ${shown}`))).toMatchObject({ outcome: 'already_covered' });
    }
    const slow = batch('slow');
    await clock.pass(10_000);
    expect(await atOnce(slow)).toMatchObject({ outcome: 'timed_out', reason: 'unfinished' });
    expect(log.warnings.filter((warning) => warning.includes('clock'))).toHaveLength(1);
    expect(log.warnings.filter((warning) => warning.includes('broke'))).toEqual([]);
  });

  it('after a jump that did not count, time goes on', async () => {
    const { batch, driver, clock } = scene(turnback);
    const first = batch('t');
    driver.last.succeed();
    await first;
    clock.shown = 2 ** 52 + 2 ** 51;
    expect(await batch('t')).toMatchObject({ outcome: 'already_covered' });
    clock.shown += 24 * 3_600_000;
    const second = batch('t');
    driver.last.succeed();
    expect(await atOnce(second)).toMatchObject({ outcome: 'created' });
  });
});
