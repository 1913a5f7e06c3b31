// G6, G7, G9: what ran without a checkpoint is remembered, whoever makes the next one and whatever was wrong with the batch or the deps.
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { GuardOptions } from './support.js';
import { FakeClock, FakeDriver, FakeLog, noUnhandledRejections, PACKAGES, scene, settled } from './support.js';

noUnhandledRejections();
afterEach(() => {
  vi.restoreAllMocks();
});

const BATCH = { sandboxId: 's', turnId: 't' };
const on = () => true;

describe.each(PACKAGES)('over the %s gate', (name, turnback) => {
  const ask = (deps: unknown, batch: object = BATCH) =>
    turnback.maybeCheckpointBeforeBatch(deps as GuardOptions, batch as typeof BATCH);

  it('a driver comes after a batch of the turn ran: its checkpoint is late; that of the next turn is not', async () => {
    const deps: GuardOptions = { enabled: on };
    expect(await ask(deps)).toMatchObject({ outcome: 'skipped', reason: 'no_driver' });
    const driver = new FakeDriver();
    deps.driver = driver;
    for (const [turnId, late] of [
      ['t', true],
      ['u', false],
    ] as const) {
      const asked = ask(deps, { sandboxId: 's', turnId });
      driver.last.succeed();
      expect(await asked).toMatchObject({ outcome: 'created', late });
    }
  });

  it('so it is where the driver counts restores that nobody saw', async () => {
    const deps: GuardOptions = { enabled: on };
    await ask(deps, { sandboxId: 'r', turnId: 't' });
    await ask(deps);
    const driver = new FakeDriver();
    driver.restores = (sandboxId?: string) => (sandboxId === 's' ? 3 : 0);
    deps.driver = driver;
    for (const sandboxId of ['r', 's']) {
      const asked = ask(deps, { sandboxId, turnId: 't' });
      driver.last.succeed();
      expect(await asked).toMatchObject({ outcome: 'created', late: true });
    }
  });

  it('a driver that failed is replaced: late. One that made a checkpoint is replaced: that one counts no longer', async () => {
    const first = new FakeDriver();
    const deps: GuardOptions = { enabled: on, driver: first };
    const failing = ask(deps);
    first.last.fail(new Error('no'));
    expect(await failing).toMatchObject({ outcome: 'failed' });
    for (let at = 0; at < 2; at += 1) {
      const driver = new FakeDriver();
      deps.driver = driver;
      const asked = ask(deps);
      driver.last.succeed();
      expect(await asked).toMatchObject({ outcome: 'created', late: true });
      expect(await ask(deps)).toMatchObject({ outcome: 'already_covered', late: true });
    }
    deps.driver = undefined;
    expect(await ask(deps)).toMatchObject({ outcome: 'skipped', reason: 'no_driver', protected: false });
  });

  it('those that wait keep the driver that they were asked with, and what it makes is theirs (G9)', async () => {
    const [old, fresh] = [new FakeDriver(), new FakeDriver()];
    const deps: GuardOptions = { enabled: on, driver: old };
    const asked = ask(deps);
    deps.driver = fresh;
    const other = ask(deps);
    expect(old.last.signal.aborted).toBe(false);
    old.last.succeed({ checkpointId: 'old' });
    fresh.last.succeed({ checkpointId: 'new' });
    expect(await asked).toMatchObject({ outcome: 'created', checkpointId: 'old' });
    expect(await other).toMatchObject({ outcome: 'created', checkpointId: 'new' });
    await settled();
    expect([old.deleted, fresh.deleted]).toEqual([[], []]);
  });

  it('a new driver before each of eight parallel batches exhausts no turn (G6)', async () => {
    const deps: GuardOptions = { enabled: on };
    const asked = Array.from({ length: 8 }, (_, at) => {
      deps.driver = { createCheckpoint: async () => ({ checkpointId: `v${at}` }) };
      return ask(deps);
    });
    for (const verdict of await Promise.all(asked)) expect(verdict).toMatchObject({ protected: true });
  });

  it('a driver that is taken away while batches wait for it leaves nobody waiting', async () => {
    const driver = new FakeDriver();
    const deps: GuardOptions = { enabled: on, driver };
    const asked = ask(deps);
    deps.driver = undefined;
    expect(await ask(deps, { sandboxId: 'other', turnId: 'u' })).toMatchObject({ reason: 'no_driver' });
    driver.last.succeed();
    expect(await asked).toMatchObject({ outcome: 'created', protected: true });
  });

  it.each([
    ['a signal that is none', { ...BATCH, signal: {} }],
    ['a signal that cannot be read', Object.defineProperty({ ...BATCH }, 'signal', { get: () => fail() })],
  ])('a batch with %s runs and is counted: the next checkpoint of its turn is late', async (_what, odd) => {
    const { guard, batch, driver } = scene(turnback);
    expect(await guard.beforeBatch(odd as never)).toMatchObject({ outcome: 'failed', reason: 'invalid_batch' });
    const asked = batch('t');
    driver.last.succeed();
    expect(await asked).toMatchObject({ outcome: 'created', late: true });
  });

  it("with onFailure: 'block' such a batch does not run, and is not counted", async () => {
    const { guard, batch, driver } = scene(turnback, { onFailure: 'block' });
    const odd = { ...BATCH, signal: {} } as never;
    await expect(guard.beforeBatch(odd)).rejects.toMatchObject({ code: 'CHECKPOINT_REQUIRED' });
    const asked = batch('t');
    driver.last.succeed();
    expect(await asked).toMatchObject({ outcome: 'created', late: false });
  });

  it.each<[string, string, object]>([
    ['timeoutMs', 'options.timeoutMs', { timeoutMs: 0 }],
    ['timeoutMs', 'options.timeoutMs', { timeoutMs: Number.NaN }],
    ['driver', 'options.driver', { driver: {} }],
    ['prefix', 'cannot be the prefix', { prefix: 'two words' }],
    [
      'a getter',
      'options cannot be read',
      Object.defineProperty({}, 'clock', { get: () => fail(), enumerable: true, configurable: true }),
    ],
  ])(
    'deps that cannot be right (%s) stop nobody; they are named once, and the turn is late when they are mended',
    async (_what, named, wrong) => {
      const [driver, clock, log] = [new FakeDriver(), new FakeClock(), new FakeLog()];
      const deps = Object.defineProperties(
        { driver, enabled: on, logger: log },
        Object.getOwnPropertyDescriptors(wrong),
      );
      for (let at = 0; at < 2; at += 1) {
        expect(await ask(deps)).toMatchObject({ outcome: 'failed', reason: 'guard_failed', protected: false });
      }
      expect(log.warnings).toHaveLength(1);
      expect(log.warnings[0]).toContain(named);
      for (const name of Object.keys(wrong)) Object.defineProperty(deps, name, { value: undefined });
      const mended = Object.defineProperties(deps, { driver: { value: driver }, clock: { value: clock } });
      const asked = ask(mended);
      driver.last.succeed();
      expect(await asked).toMatchObject({ outcome: 'created', late: true });
    },
  );

  it("deps that cannot be right and say onFailure: 'block' do stop it", async () => {
    const deps = { driver: new FakeDriver(), enabled: on, onFailure: 'block', timeoutMs: 0 };
    await expect(ask(deps)).rejects.toMatchObject({
      code: 'CHECKPOINT_REQUIRED',
      cause: { code: 'INVALID_ARGUMENT' },
    });
  });

  it('deps that are no object stop nobody either; without a logger the process is told, once', async () => {
    const warning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    for (const deps of ['a text', 7, () => {}]) {
      expect(await ask(deps)).toMatchObject({ outcome: 'failed', reason: 'guard_failed' });
    }
    const wrong = `prefix of ${name}`;
    for (let at = 0; at < 2; at += 1) await ask({ driver: new FakeDriver(), enabled: on, prefix: wrong });
    const said = warning.mock.calls.map(([message]) => String(message));
    expect(said.filter((message) => message.includes(wrong))).toHaveLength(1);
  });
});

function fail(): never {
  throw new Error('a getter that throws');
}
