// G1, G8: what a driver says of restores is remembered for as long as the sandbox is, however many there are.
import { describe, expect, it } from 'vitest';
import { noUnhandledRejections, PACKAGES, scene, settled } from './support.js';

noUnhandledRejections();

const HOUR = 3_600_000;
const SANDBOXES = Array.from({ length: 1_500 }, (_, at) => `s${at}`);

describe.each(PACKAGES)('over the %s gate', (_, turnback) => {
  it('1,500 sandboxes in turns: each turn has one checkpoint', async () => {
    const { batch, driver } = scene(turnback);
    for (const sandbox of SANDBOXES) {
      const asked = batch('t', sandbox);
      driver.last.succeed();
      expect(await asked).toMatchObject({ outcome: 'created' });
    }
    for (const sandbox of SANDBOXES) expect(await batch('t', sandbox)).toMatchObject({ outcome: 'already_covered' });
    expect(driver.calls).toHaveLength(SANDBOXES.length);
  });

  it('1,500 sandboxes at once: each attempt counts', async () => {
    const { batch, driver } = scene(turnback);
    const asked = SANDBOXES.map((sandbox) => batch('t', sandbox));
    for (const call of driver.calls) call.succeed();
    await settled();
    expect(driver.calls).toHaveLength(SANDBOXES.length);
    const verdicts = await Promise.all(asked);
    expect(new Set(verdicts.map(({ reason }) => reason))).toEqual(new Set(['new_turn']));
  });

  it('a restore is noticed behind 1,500 other sandboxes', async () => {
    const { batch, driver } = scene(turnback);
    const restored: Record<string, number> = {};
    driver.restores = (sandboxId?: string) => restored[sandboxId ?? ''] ?? 0;
    for (const sandbox of SANDBOXES) {
      const asked = batch('t', sandbox);
      driver.last.succeed();
      await asked;
    }
    restored.s0 = 1;
    const again = batch('t', 's0');
    expect(driver.calls).toHaveLength(SANDBOXES.length + 1);
    driver.last.succeed();
    expect(await again).toMatchObject({ outcome: 'created', late: false });
    expect(await batch('t', 's1')).toMatchObject({ outcome: 'already_covered' });
  });

  it('a sandbox that was last used by a verdict or a release is remembered for 24 hours from then', async () => {
    const { guard, batch, driver, clock } = scene(turnback, { timeoutMs: 20 * HOUR });
    const asked = batch('t');
    clock.shown += 10 * HOUR;
    driver.last.succeed();
    await asked;
    await batch('t');
    clock.shown += 20 * HOUR;
    await once('other');
    guard.release({ sandboxId: 's', turnId: 't' });
    clock.shown += 23 * HOUR;
    await once('another');
    expect(await batch('t')).toMatchObject({ outcome: 'already_covered' });

    async function once(sandbox: string) {
      const made = batch('t', sandbox);
      driver.last.succeed();
      await made;
    }
  });

  it('an attempt of several days is no restore, whatever else happens', async () => {
    const { batch, driver, clock } = scene(turnback, { timeoutMs: 20 * 24 * HOUR });
    const slow = batch('t');
    const [first] = driver.calls;
    for (let day = 0; day < 4; day += 1) {
      clock.shown += 25 * HOUR;
      const other = batch('t', 'other');
      driver.last.succeed();
      await other;
    }
    first?.succeed();
    expect(await slow).toMatchObject({ outcome: 'created', checkpointId: 'v1' });
    expect(driver.calls).toHaveLength(5);
  });
});
