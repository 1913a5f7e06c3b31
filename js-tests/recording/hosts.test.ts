// P4, G13: `runBash` and the adapters say themselves when a batch is over; real drivers work as before; a killed process leaves a file
// that can be read.
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createGuard, type Driver, localDriver, runBash } from 'turnback';
import { guardFunction } from 'turnback/plain';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type FakeClock, noUnhandledRejections } from '../guard/support.js';
import { rejection, scene as store, temporary } from '../node/support.js';
import { prompt, scene } from './support.js';

noUnhandledRejections();

/** Time passes, and no timer hears of it. */
function pass(clock: FakeClock, ms: number): void {
  clock.shown += ms;
}

describe('runBash', () => {
  it('says when a command is over, also one that fails, is cancelled, or runs beside another', async () => {
    const { clock, asked, guard, lines } = await scene({ driver: prompt() });
    const sandbox = temporary();
    const run = (command: string, more: { signal?: AbortSignal; onOutput?: () => void } = {}) =>
      runBash({ sandbox, command, guard, turnId: 't', ...more });
    // What asks by itself and is never told to be over must not end the commands.
    await asked('t', 'other').verdict;
    await run('exit 3', { onOutput: () => {} });
    await run('echo', { onOutput: () => pass(clock, 70) });
    const abort = new AbortController();
    const cancelled = run('echo; sleep 60', {
      signal: abort.signal,
      onOutput: () => {
        clock.shown += 30;
        abort.abort();
      },
    });
    expect(await rejection(cancelled)).toMatchObject({ code: 'ABORTED' });
    // The longer one asked first, and goes on while the other comes and goes.
    const gate = join(temporary(), 'gate');
    let within: Promise<unknown> | undefined;
    await run(`echo; until test -e ${gate}; do sleep 0.02; done`, {
      onOutput: () => {
        clock.shown += 5;
        within ??= run('echo', { onOutput: () => pass(clock, 10) }).finally(() => writeFileSync(gate, ''));
      },
    });
    await within;
    const { batches } = await lines();
    expect(batches.filter(({ sandbox }) => sandbox !== 'other').map(({ durationMs }) => durationMs)).toEqual([
      0, 70, 30, 10, 15,
    ]);
  });

  it('G8: a command that could not start is in no recording', async () => {
    const { guard, lines } = await scene({ driver: prompt() });
    const abort = new AbortController();
    const stopped = runBash({
      sandbox: temporary(),
      command: 'true',
      guard: {
        ...guard,
        beforeBatch: async (batch) => {
          const verdict = await guard.beforeBatch(batch);
          abort.abort();
          return verdict;
        },
      },
      turnId: 't',
      signal: abort.signal,
    });
    expect(await rejection(stopped)).toMatchObject({ code: 'ABORTED' });
    expect((await lines()).batches).toEqual([]);
  });
});

it('adapters say when a call is over, also one that throws or yields', async () => {
  const { clock, guard, lines } = await scene({ driver: prompt() });
  const options = { guard, sandboxId: 's', turnId: () => 't' };
  await guardFunction(async () => pass(clock, 11), options)();
  const fails = guardFunction(async () => {
    clock.shown += 22;
    throw new Error('no');
  }, options);
  expect(await rejection(fails())).toMatchObject({ message: 'no' });
  const yields = guardFunction(async function* () {
    clock.shown += 33;
    yield 1;
    clock.shown += 44;
    yield 2;
  }, options);
  for await (const _ of yields()) clock.shown += 1;
  for await (const _ of yields()) break;
  clock.shown += 1000;
  const { batches } = await lines();
  expect(batches.map(({ durationMs }) => durationMs)).toEqual([11, 22, 79, 33]);
});

describe('drivers', () => {
  it('the engine’s own makes the checkpoints as before', async () => {
    const { manager, workspace } = await store();
    const { guard, asked, recording, lines } = await scene({ driver: localDriver(manager, workspace) });
    const one = asked('t');
    const { checkpointId = '' } = await one.verdict;
    recording.ended(one.batch);
    expect(await manager.getCheckpoint(checkpointId)).toMatchObject({ phase: 'pre_batch', metadata: { turnId: 't' } });
    // It is asked whether its checkpoint is still there, and whether the sandbox was restored.
    await manager.deleteCheckpoint(checkpointId);
    expect(await guard.beforeBatch({ sandboxId: 's', turnId: 't' })).toMatchObject({ outcome: 'created' });
    await manager.pause();
    expect(await guard.beforeBatch({ sandboxId: 's', turnId: 'u' })).toMatchObject({ reason: 'paused' });
    const { batches } = await lines();
    expect(batches.map(({ turn, attempt }) => [turn, attempt?.outcome])).toEqual([
      ['t', 'succeeded'],
      ['t', 'succeeded'],
      ['u', undefined],
    ]);
  });

  it('one with private fields, one that is frozen, and one that is asked for a thenable', async () => {
    class Own implements Driver {
      #made = 0;
      async createCheckpoint() {
        this.#made += 1;
        return { checkpointId: `v${this.#made}` };
      }
      isDeleted() {
        return this.#made > 1;
      }
    }
    let asked = 0;
    const thenable = {
      // biome-ignore lint/suspicious/noThenProperty: that is what is tested
      then(resolve: (value: object) => void) {
        asked += 1;
        resolve({ checkpointId: 'v1' });
      },
    };
    const drivers = [new Own(), Object.freeze(prompt()), { createCheckpoint: () => thenable as never }];
    for (const driver of drivers) {
      const { guard, lines } = await scene({ driver });
      expect(await guard.beforeBatch({ sandboxId: 's', turnId: 't' })).toMatchObject({ outcome: 'created' });
      expect(await guard.beforeBatch({ sandboxId: 's', turnId: 't' })).toMatchObject({ outcome: 'already_covered' });
      const { batches } = await lines();
      expect(batches.map(({ attempt }) => attempt?.outcome)).toEqual(['succeeded', undefined]);
    }
    expect(asked).toBe(1);
  });

  it('one that is none is refused as before, and none at all skips', async () => {
    const { recording } = await scene();
    const wrong = () => createGuard({ driver: {} as never, recording });
    expect(wrong).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    const guard = createGuard({ recording, enabled: () => true });
    expect(await guard.beforeBatch({ sandboxId: 's', turnId: 't' })).toMatchObject({ reason: 'no_driver' });
  });
});

it('a process that is killed leaves a file that can be read', async () => {
  const file = join(temporary(), 'day.jsonl');
  const script = new URL('killed.mjs', import.meta.url).pathname;
  const child = spawn(process.execPath, [script, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await new Promise<void>((resolve) => child.stdout.once('data', () => resolve()));
  child.kill('SIGKILL');
  await new Promise((resolve) => child.once('exit', resolve));
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n');
  // The last one may be cut off.
  const whole = lines.slice(0, -1).map((line) => JSON.parse(line));
  expect(whole[0]).toMatchObject({ version: 1 });
  expect(whole.length).toBeGreaterThan(1);
});

it('X5: a guard of which nothing is recorded is the same object as before, and its driver is asked directly', async () => {
  const seen: unknown[] = [];
  const driver: Driver = {
    async createCheckpoint() {
      seen.push(this);
    },
  };
  const guard = createGuard({ driver, enabled: () => true });
  await guard.beforeBatch({ sandboxId: 's', turnId: 't' });
  expect(seen).toEqual([driver]);
  expect(seen[0]).toBe(driver);
  expect(Object.keys(guard)).toEqual(['beforeBatch', 'release', 'forget']);
});
