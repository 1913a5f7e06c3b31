// G14: with `when: 'unless_read_only'` a batch that is proven to only read costs nothing and leaves no trace on its turn.
import { isReadOnly as portable } from 'turnback-policy/read-only';
import { describe, expect, it } from 'vitest';
import { thrownBy } from '../wasm/vectors.js';
import { atOnce, type GuardOptions, noUnhandledRejections, PACKAGES, scene } from './support.js';

noUnhandledRejections();

describe.each(PACKAGES)('G14: the guard over the %s gate', (name, turnback) => {
  /** The package `turnback` brings its own proof; the other one is given it. */
  const own = name === 'native' ? {} : { isReadOnly: portable };
  const lenient = (options: GuardOptions = {}) => {
    const made = scene(turnback, { when: 'unless_read_only', ...own, ...options });
    const run = (turnId: string | undefined, command?: string | readonly string[]) =>
      made.guard.beforeBatch({ sandboxId: 's', turnId, command });
    return { ...made, run };
  };

  it('a command that only reads asks nobody for anything', async () => {
    const asked: string[] = [];
    const driver = {
      createCheckpoint: async () => void asked.push('createCheckpoint'),
      isPaused: () => {
        asked.push('isPaused');
        return true;
      },
    };
    const { run } = lenient({ driver });
    expect(await atOnce(run('t', 'grep -rn foo src | head -5'))).toEqual({
      outcome: 'skipped',
      protected: false,
      late: false,
      partial: false,
      reason: 'read_only',
      durationMs: 0,
    });
    expect(asked).toEqual([]);
  });

  it('leaves no trace: the first batch that may write gets its checkpoint, which is not late', async () => {
    const { run, driver } = lenient();
    for (let n = 0; n < 3; n += 1) expect(await atOnce(run('t', 'ls'))).toMatchObject({ reason: 'read_only' });
    const writing = run('t', 'rm x');
    driver.last.succeed();
    expect(await writing).toMatchObject({ outcome: 'created', reason: 'new_turn', late: false, protected: true });
    expect(driver.calls).toHaveLength(1);
  });

  it('leaves none either while the flag is off or the store paused, and then on again', async () => {
    let enabled = false;
    const { run, driver } = lenient({ enabled: () => enabled });
    expect(await atOnce(run('t', 'ls'))).toMatchObject({ outcome: 'skipped', reason: 'flag_off' });
    enabled = true;
    driver.paused = true;
    expect(await atOnce(run('t', 'ls'))).toMatchObject({ outcome: 'skipped' });
    driver.paused = false;
    const writing = run('t', 'rm x');
    driver.last.succeed();
    expect(await writing).toMatchObject({ reason: 'new_turn', late: false });
  });

  it('where something ran unprotected before, the checkpoint is late all the same', async () => {
    let enabled = false;
    const { run, driver } = lenient({ enabled: () => enabled });
    await atOnce(run('t', 'rm y'));
    enabled = true;
    await atOnce(run('t', 'ls'));
    const writing = run('t', 'rm x');
    driver.last.succeed();
    expect(await writing).toMatchObject({ late: true });
  });

  it('of a covered turn it says so, and counts for nothing: a denied batch gives its slot back', async () => {
    const { run, driver, guard } = lenient();
    const denied = { sandboxId: 's', turnId: 't', command: 'rm x' };
    const writing = guard.beforeBatch(denied);
    driver.last.succeed();
    await writing;
    expect(await atOnce(run('t', 'ls'))).toMatchObject({
      outcome: 'skipped',
      reason: 'read_only',
      protected: true,
      checkpointId: 'v1',
    });
    guard.release(denied);
    const again = run('t', 'rm x');
    driver.last.succeed();
    expect(await again).toMatchObject({ outcome: 'created', checkpointId: 'v2', late: false });
  });

  it('G8: its release takes nothing from those that ran, whatever object names it', async () => {
    for (const how of ['own', 'copy', 'ids'] as const) {
      const { run, driver, guard } = lenient();
      const ran = run('t', 'rm x');
      driver.last.succeed();
      await ran;
      const reading = { sandboxId: 's', turnId: 't', command: 'ls' };
      await atOnce(guard.beforeBatch(reading));
      guard.release({ own: reading, copy: { ...reading }, ids: { sandboxId: 's', turnId: 't' } }[how]);
      expect(await atOnce(run('t', 'rm y')), how).toMatchObject({ outcome: 'already_covered', late: false });
    }
  });

  it('G9: one that is refused for something else does not make its turn late', async () => {
    const { run, driver, guard } = lenient();
    const odd = { sandboxId: 's', turnId: 't', command: 'ls', signal: {} } as never;
    expect(await atOnce(guard.beforeBatch(odd))).toMatchObject({ outcome: 'failed', reason: 'invalid_batch' });
    const writing = run('t', 'rm x');
    driver.last.succeed();
    expect(await writing).toMatchObject({ outcome: 'created', late: false });
  });

  it('does not wait for an attempt of its turn', async () => {
    const { run, driver } = lenient();
    const writing = run('t', 'rm x');
    expect(await atOnce(run('t', 'cat a.txt'))).toMatchObject({ outcome: 'skipped', reason: 'read_only' });
    driver.last.succeed();
    await writing;
  });

  it.each<[string, unknown]>([
    ['no command', undefined],
    ['an empty one', ''],
    ['one that cannot be parsed', 'ls ('],
    ['one that writes', 'echo x > y'],
    ['one of two that writes', ['ls', 'rm x']],
    ['no command in a list', []],
    ['what is no text', 7],
    ['a text within an object', { command: 'ls' }],
    ['half a surrogate pair', 'ls \ud800'],
    ['an empty one in a list', ['ls', '']],
  ])('%s counts as destructive', async (_, command) => {
    const { run, driver } = lenient();
    const asked = run('t', command as string);
    expect(driver.calls).toHaveLength(1);
    driver.last.succeed();
    expect(await asked).toMatchObject({ outcome: 'created' });
  });

  it('a list whose commands all only read needs nothing', async () => {
    const { run } = lenient();
    expect(await atOnce(run('t', ['ls', 'cat x']))).toMatchObject({ reason: 'read_only' });
  });

  it('a command that cannot even be read counts as destructive', async () => {
    const { guard, driver } = lenient();
    const batch = {
      sandboxId: 's',
      turnId: 't',
      get command(): string {
        throw new Error('no');
      },
    };
    const asked = guard.beforeBatch(batch);
    driver.last.succeed();
    expect(await asked).toMatchObject({ outcome: 'created' });
  });

  it("with onFailure: 'block' it passes", async () => {
    const { run } = lenient({ onFailure: 'block' });
    expect(await atOnce(run('t', 'ls'))).toMatchObject({ reason: 'read_only' });
  });

  it("by default, and with 'always', every command has its checkpoint", async () => {
    for (const options of [{}, { when: 'always' as const }]) {
      const { guard, driver } = scene(turnback, { ...own, ...options });
      const asked = guard.beforeBatch({ sandboxId: 's', turnId: 't', command: 'ls' });
      driver.last.succeed();
      expect(await asked).toMatchObject({ outcome: 'created' });
    }
  });

  it('a proof of the caller\u2019s that breaks proves nothing, and is named once', async () => {
    for (const isReadOnly of [
      () => {
        throw new Error('broken');
      },
      () => 'yes' as unknown as boolean,
      async () => true,
    ]) {
      const { run, driver, log } = lenient({ isReadOnly: isReadOnly as () => boolean });
      const first = run('t', 'ls');
      driver.last.succeed();
      expect(await first).toMatchObject({ outcome: 'created' });
      expect(await atOnce(run('t', 'ls'))).toMatchObject({ outcome: 'already_covered' });
      expect(log.warnings.filter((line) => line.includes('isReadOnly'))).toHaveLength(1);
    }
  });

  it('the options of maybeCheckpointBeforeBatch may change to it and back', async () => {
    const { driver, clock } = scene(turnback);
    const deps: GuardOptions = { driver, clock, enabled: () => true, ...own, when: 'unless_read_only' };
    const run = () => turnback.maybeCheckpointBeforeBatch(deps, { sandboxId: 's', turnId: 't', command: 'ls' });
    expect(await atOnce(run())).toMatchObject({ reason: 'read_only' });
    deps.when = 'always';
    const asked = run();
    driver.last.succeed();
    expect(await asked).toMatchObject({ outcome: 'created', late: false });
    deps.when = 'unless_read_only';
    expect(await atOnce(run())).toMatchObject({ reason: 'read_only', protected: true });
  });

  it('a proof that is no function is refused', () => {
    expect(thrownBy(() => turnback.createGuard({ isReadOnly: true as never }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: { argument: 'options.isReadOnly' },
    });
  });
});

it('G14: the package without a proof of its own refuses to go without one, and says where it is', () => {
  const [, [, policy]] = PACKAGES;
  expect(thrownBy(() => policy.createGuard({ when: 'unless_read_only' }))).toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('turnback-policy/read-only'),
  });
});
