// G3, G7, G11: the pieces one by one, for those who have their own tool-runner; options; what an import costs (W9).
import { cpSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { node, PACKAGE, temporary } from '../node/support.js';
import {
  FakeClock,
  FakeDriver,
  FakeLog,
  type GuardOptions,
  noUnhandledRejections,
  PACKAGES,
  scene,
  settled,
  watch,
} from './support.js';

noUnhandledRejections();

const FLAG = 'SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH';

/** Sets variables until the test ends. */
function env(values: Record<string, string | undefined>): void {
  for (const [name, value] of Object.entries(values)) vi.stubEnv(name, value);
  onTestFinished(() => {
    vi.unstubAllEnvs();
  });
}

/** Warnings of the process until the test ends. */
function processWarnings(): string[] {
  const heard: string[] = [];
  const listener = ({ message }: Error) => void heard.push(message);
  process.on('warning', listener);
  onTestFinished(() => void process.off('warning', listener));
  return heard;
}

const thrownBy = (call: () => unknown): unknown => {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
};

describe.each(PACKAGES)('%s', (name, turnback) => {
  describe('createGuard', () => {
    it.each<[string, unknown]>([
      ['nothing', undefined],
      ['null', null],
      ['a misspelt option', { timeout: 5 }],
      ['a driver that is none', { driver: {} }],
      ['a negative limit', { timeoutMs: -1 }],
      ['no limit at all', { timeoutMs: 0 }],
      ['half a millisecond', { timeoutMs: 0.5 }],
      ['a limit that no timer takes', { timeoutMs: 2 ** 31 }],
      ['not a number', { timeoutMs: Number.NaN }],
      ['enabled that is no function', { enabled: true }],
      ['an unknown onFailure', { onFailure: 'throw' }],
      ['an unknown when', { when: 'never' }],
      ['a prefix that is none', { driver: new FakeDriver(), prefix: 'a b' }],
      ['an empty prefix', { driver: new FakeDriver(), prefix: '' }],
      ['a prefix that is no text', { prefix: 7 }],
      ['a prefix that is none, without a driver', { prefix: 'a b' }],
      ['an empty prefix, without a driver', { driver: null, prefix: '' }],
      ['an array', []],
      ['a logger that is none', { logger: {} }],
      ['a clock that is none', { clock: {} }],
    ])('refuses %s', (_name, options) => {
      const error = thrownBy(() => turnback.createGuard(options as GuardOptions));
      expect(turnback.isTurnbackError(error)).toBe(true);
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
    });
  });

  describe('turnIdOf (G11)', () => {
    it('is made once for each object', () => {
      const [one, two] = [{}, Object.freeze({})];
      const id = turnback.turnIdOf(one);
      expect(id).toMatch(/^[\x21-\x7e]{1,200}$/);
      expect(turnback.turnIdOf(one)).toBe(id);
      expect(turnback.turnIdOf(two)).toBe(turnback.turnIdOf(two));
      expect(turnback.turnIdOf(two)).not.toBe(id);
      expect(Reflect.ownKeys(one)).toEqual([]);
    });

    it('an explicit id wins, also later', () => {
      expect(turnback.turnIdOf({ turnId: 'mine' })).toBe('mine');
      const context: { turnId?: string } = {};
      const stamped = turnback.turnIdOf(context);
      context.turnId = 'mine';
      expect(turnback.turnIdOf(context)).toBe('mine');
      delete context.turnId;
      expect(turnback.turnIdOf(context)).toBe(stamped);
    });

    it('one that is none does not', () => {
      const odd = {
        get turnId(): string {
          throw new Error('no');
        },
      };
      for (const context of [{ turnId: '' }, { turnId: 7 }, { turnId: null }, odd]) {
        expect(turnback.turnIdOf(context)).toMatch(/^turn-/);
      }
    });

    it('a copy is another turn', () => {
      const context = { messages: [] };
      expect(turnback.turnIdOf({ ...context })).not.toBe(turnback.turnIdOf(context));
    });

    it('refuses what is no object', () => {
      for (const none of [undefined, null, 't', 7]) {
        expect(thrownBy(() => turnback.turnIdOf(none as never))).toMatchObject({ code: 'INVALID_ARGUMENT' });
      }
    });

    it('can be the turn of a guard', async () => {
      const { batch, driver } = scene(turnback);
      const context = Object.freeze({});
      const both = [batch(turnback.turnIdOf(context)), batch(turnback.turnIdOf(context))];
      driver.last.succeed();
      expect(await Promise.all(both)).toMatchObject([{ outcome: 'created' }, { outcome: 'joined' }]);
    });
  });

  describe('coalesceCheckpointAttempt (G4)', () => {
    const key = (text: string) => `${name} ${text}`;

    it('takes the key in the same tick, shares the result, and is free again afterwards', async () => {
      let calls = 0;
      const attempt = async () => {
        calls += 1;
        await settled();
        return { calls };
      };
      const three = [1, 2, 3].map(() => turnback.coalesceCheckpointAttempt(key('k'), attempt));
      expect(calls).toBe(1);
      const [one, ...others] = await Promise.all(three);
      expect(one).toEqual({ calls: 1 });
      for (const other of others) expect(other).toBe(one);
      expect(await turnback.coalesceCheckpointAttempt(key('k'), attempt)).toEqual({ calls: 2 });
    });

    it('keys do not share', async () => {
      const [a, b] = [
        turnback.coalesceCheckpointAttempt(key('a'), async () => 'a'),
        turnback.coalesceCheckpointAttempt(key('b'), async () => 'b'),
      ];
      expect(await Promise.all([a, b])).toEqual(['a', 'b']);
    });

    it('a failure is shared too, also one that is thrown at once, and frees the key', async () => {
      const fail = () => {
        throw new Error('no');
      };
      const two = [
        turnback.coalesceCheckpointAttempt(key('f'), fail),
        turnback.coalesceCheckpointAttempt(key('f'), fail),
      ];
      expect(await Promise.allSettled(two)).toMatchObject([{ status: 'rejected' }, { status: 'rejected' }]);
      expect(await turnback.coalesceCheckpointAttempt(key('f'), async () => 'fine')).toBe('fine');
    });

    it('is free as soon as somebody who waited goes on', async () => {
      await turnback.coalesceCheckpointAttempt(key('g'), async () => 1);
      expect(await turnback.coalesceCheckpointAttempt(key('g'), async () => 2)).toBe(2);
    });

    it('an attempt that asks for its own key joins itself instead of starting another', async () => {
      let calls = 0;
      let inner: Promise<unknown> | undefined;
      const attempt = async (): Promise<string> => {
        calls += 1;
        if (calls === 1) inner = turnback.coalesceCheckpointAttempt(key('r'), attempt);
        return 'done';
      };
      expect(await turnback.coalesceCheckpointAttempt(key('r'), attempt)).toBe('done');
      expect([await inner, calls]).toEqual(['done', 1]);
    });

    it('refuses a key that is no text and an attempt that is no function', async () => {
      await expect(turnback.coalesceCheckpointAttempt(7 as never, async () => 1)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
      await expect(turnback.coalesceCheckpointAttempt('k', 7 as never)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    });
  });

  describe('maybeCheckpointBeforeBatch (G7)', () => {
    const batch = { sandboxId: 's', turnId: 't' };

    it('without deps, or without a driver in them, skips', async () => {
      env({ [FLAG]: 'true' });
      for (const deps of [undefined, null, {}, { driver: undefined }, { driver: null }]) {
        expect(await turnback.maybeCheckpointBeforeBatch(deps as GuardOptions, batch)).toMatchObject({
          outcome: 'skipped',
          reason: 'no_driver',
        });
      }
      env({ [FLAG]: 'false' });
      expect(await turnback.maybeCheckpointBeforeBatch(undefined, batch)).toMatchObject({ reason: 'flag_off' });
    });

    it('keeps its bookkeeping with the deps object', async () => {
      const driver = new FakeDriver();
      const deps = Object.freeze({ driver, enabled: () => true, database: 'something else' });
      const eight = Array.from({ length: 8 }, () => turnback.maybeCheckpointBeforeBatch(deps, batch));
      expect(driver.calls).toHaveLength(1);
      driver.last.succeed();
      expect((await Promise.all(eight)).map(({ outcome }) => outcome)).toEqual(['created', ...Array(7).fill('joined')]);
      expect(await turnback.maybeCheckpointBeforeBatch(deps, batch)).toMatchObject({ outcome: 'already_covered' });
      const other = turnback.maybeCheckpointBeforeBatch({ ...deps }, batch);
      driver.last.succeed();
      expect(await other).toMatchObject({ outcome: 'created', checkpointId: 'v2' });
    });

    it('a driver that comes later, or changes, is used', async () => {
      const deps: GuardOptions = { enabled: () => true };
      expect(await turnback.maybeCheckpointBeforeBatch(deps, batch)).toMatchObject({ reason: 'no_driver' });
      for (let turn = 0; turn < 2; turn += 1) {
        const driver = new FakeDriver();
        deps.driver = driver;
        const asked = turnback.maybeCheckpointBeforeBatch(deps, batch);
        driver.last.succeed();
        expect(await asked).toMatchObject({ outcome: 'created', late: true });
      }
    });

    it('reads its deps at each batch: what is changed in them counts from then on, and what was done still does', async () => {
      const [driver, clock, log, late] = [new FakeDriver(), new FakeClock(), new FakeLog(), new FakeLog()];
      const deps: GuardOptions = { driver, clock, logger: log, enabled: () => true };
      const created = turnback.maybeCheckpointBeforeBatch(deps, batch);
      driver.last.succeed();
      await created;
      const waiting = watch(turnback.maybeCheckpointBeforeBatch(deps, { sandboxId: 's', turnId: 'waits' }));
      await settled();

      Object.assign(deps, { onFailure: 'block', timeoutMs: 50, prefix: 'acme', logger: late });
      expect(await turnback.maybeCheckpointBeforeBatch(deps, batch)).toMatchObject({ outcome: 'already_covered' });
      const other = turnback.maybeCheckpointBeforeBatch(deps, { sandboxId: 'other', turnId: 'u' });
      const refused = expect(other).rejects.toMatchObject({ code: 'CHECKPOINT_REQUIRED' });
      expect(driver.last.comment).toBe('acme-pre-agent-u');
      await clock.pass(50);
      await refused;
      expect(waiting.done()).toBe(false);
      expect([log.warnings.length, late.warnings.length]).toEqual([0, 1]);
      // What was asked under the old options keeps them.
      await clock.pass(10_000);
      expect(await waiting.promise).toMatchObject({ outcome: 'timed_out', durationMs: 10_000 });

      deps.enabled = () => false;
      expect(await turnback.maybeCheckpointBeforeBatch(deps, batch)).toMatchObject({ reason: 'flag_off' });
      deps.prefix = 'two words';
      await expect(turnback.maybeCheckpointBeforeBatch(deps, batch)).rejects.toMatchObject({
        code: 'CHECKPOINT_REQUIRED',
        cause: { code: 'INVALID_ARGUMENT', details: { argument: 'options.prefix' } },
      });
      const moved = new FakeClock();
      Object.assign(deps, { prefix: undefined, enabled: () => true, clock: moved });
      const slow = turnback.maybeCheckpointBeforeBatch(deps, { sandboxId: 'other', turnId: 'v' });
      const alsoRefused = expect(slow).rejects.toMatchObject({ code: 'CHECKPOINT_REQUIRED' });
      expect(driver.last.comment).toBe('turnback-pre-agent-v');
      await moved.pass(50);
      await alsoRefused;
    });

    it('a failing driver stops nobody', async () => {
      const driver = { createCheckpoint: () => Promise.reject(new Error('no')) };
      expect(await turnback.maybeCheckpointBeforeBatch({ driver, enabled: () => true }, batch)).toMatchObject({
        outcome: 'failed',
      });
    });
  });

  describe('the flag (G3)', () => {
    it.each<[Record<string, string | undefined>, boolean]>([
      [{}, true],
      [{ NODE_ENV: 'production' }, false],
      [{ [FLAG]: '', NODE_ENV: 'production' }, false],
      [{ [FLAG]: 'true', NODE_ENV: 'production' }, true],
      [{ [FLAG]: 'false' }, false],
    ])('%j: %s', (values, enabled) => {
      expect(turnback.isCheckpointBeforeAgentBatchEnabled(values)).toBe(enabled);
    });

    it('an odd value counts as unset, and is named in a warning once', async () => {
      const warnings = processWarnings();
      const odd = { [FLAG]: `odd-${name}` };
      expect(turnback.isCheckpointBeforeAgentBatchEnabled(odd)).toBe(true);
      expect(turnback.isCheckpointBeforeAgentBatchEnabled({ ...odd, NODE_ENV: 'production' })).toBe(false);
      await settled();
      expect(warnings.filter((text) => text.includes(`odd-${name}`))).toHaveLength(1);
    });

    it('G5: a warning that cannot be given disturbs nothing', async () => {
      const emit = process.emitWarning;
      onTestFinished(() => {
        process.emitWarning = emit;
      });
      process.emitWarning = () => {
        throw new Error('no');
      };
      expect(turnback.isCheckpointBeforeAgentBatchEnabled({ [FLAG]: `mute-${name}` })).toBe(true);
      env({ [FLAG]: `muted-${name}` });
      const { guard, driver } = scene(turnback, { enabled: undefined, logger: undefined });
      const asked = guard.beforeBatch({ sandboxId: 's', turnId: 't' });
      driver.last.succeed();
      expect(await asked).toMatchObject({ outcome: 'created', late: false });
    });

    it.each([null, 5, 'production'])('an environment that is none is refused: %j', (given) => {
      const ask = () => turnback.isCheckpointBeforeAgentBatchEnabled(given as never);
      expect(ask).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', details: { argument: 'env' } }));
    });

    it('of the process is what counts by default, read at each batch', async () => {
      env({ [FLAG]: undefined, NODE_ENV: 'production' });
      expect(turnback.isCheckpointBeforeAgentBatchEnabled()).toBe(false);
      const { batch, driver, log } = scene(turnback, { enabled: undefined });
      expect(await batch('a')).toMatchObject({ reason: 'flag_off' });
      env({ NODE_ENV: 'test' });
      const asked = batch('b');
      driver.last.succeed();
      expect(await asked).toMatchObject({ outcome: 'created' });
      env({ [FLAG]: 'false' });
      expect(await batch('b')).toMatchObject({ reason: 'flag_off', protected: true });
      env({ [FLAG]: 'yes' });
      for (let again = 0; again < 3; again += 1) expect(await batch('b')).toMatchObject({ reason: 'same_turn' });
      env({ [FLAG]: 'true' });
      await batch('b');
      env({ [FLAG]: 'yes' });
      await batch('b');
      expect(log.warnings).toEqual([expect.stringMatching(/yes/)]);
    });

    it('an odd value without a logger is a warning of the process', async () => {
      const warnings = processWarnings();
      env({ [FLAG]: `silent-${name}` });
      const { batch, driver } = scene(turnback, { enabled: undefined, logger: undefined });
      const asked = batch('a');
      driver.last.succeed();
      await asked;
      await batch('a');
      await settled();
      expect(warnings.filter((text) => text.includes(`silent-${name}`))).toHaveLength(1);
    });
  });

  it('CHECKPOINT_TIMEOUT_MS is ten seconds', () => {
    expect(turnback.CHECKPOINT_TIMEOUT_MS).toBe(10_000);
  });

  describe('a process', () => {
    const module = name === 'native' ? 'turnback' : 'turnback-policy';
    const print = 'const { outcome, reason } = verdict; console.log(JSON.stringify({ outcome, reason }));';

    it('W9: importing starts no thread, no timer and no WebAssembly, and loads no native code', () => {
      const ran = node(
        `import { readdirSync, readFileSync } from 'node:fs';
         await import(${JSON.stringify(new URL('../node/warm-up.mjs', import.meta.url).href)});
         for (const what of ['Module', 'Instance']) WebAssembly[what] = class { constructor() { throw new Error('started'); } };
         const threads = () => readdirSync('/proc/self/task').length;
         const before = threads();
         const timers = process.getActiveResourcesInfo().length;
         await import('${module}');
         console.log(JSON.stringify([threads() - before, process.getActiveResourcesInfo().length - timers,
           readFileSync('/proc/self/maps', 'utf8').includes('turnback.node')]));`,
      );
      expect([ran.stderr, ran.stdout]).toEqual(['', '[0,0,false]\n']);
    });

    it('that waits for a driver which keeps nothing alive gets its verdict, and does not end before it', () => {
      const ran = node(
        `import { createGuard } from '${module}';
         const driver = { createCheckpoint: () => new Promise(() => {}) };
         const guard = createGuard({ driver, timeoutMs: 20, enabled: () => true });
         const verdict = await guard.beforeBatch({ sandboxId: 's', turnId: 't' });
         ${print}`,
      );
      expect(ran).toMatchObject({ code: 0, stdout: '{"outcome":"timed_out","reason":"unfinished"}\n' });
    });

    it('whose batches have their verdicts is not kept alive', () => {
      const ran = node(
        `import { createGuard } from '${module}';
         const driver = { createCheckpoint: async () => ({ checkpointId: 'v' }) };
         const guard = createGuard({ driver, enabled: () => true });
         const verdict = await guard.beforeBatch({ sandboxId: 's', turnId: 't' });
         ${print}
         if (process.getActiveResourcesInfo().includes('Timeout')) console.log('a timer');`,
      );
      expect(ran).toMatchObject({ code: 0, stdout: '{"outcome":"created","reason":"new_turn"}\n' });
    });
  });
});

describe('X5: the package turnback without its native half', () => {
  it('has the guard all the same, from turnback-policy', () => {
    const home = temporary();
    const target = join(home, 'node_modules', 'turnback');
    for (const part of ['dist', 'package.json']) cpSync(join(PACKAGE, part), join(target, part), { recursive: true });
    const policy = dirname(createRequire(import.meta.url).resolve('turnback-policy/package.json'));
    symlinkSync(policy, join(home, 'node_modules', 'turnback-policy'));
    const ran = node(
      `import { createGuard, isTurnbackError, turnIdOf } from 'turnback';
       const driver = { createCheckpoint: async () => ({ checkpointId: 'v' }) };
       const guard = createGuard({ driver, enabled: () => true });
       const batch = { sandboxId: 's', turnId: turnIdOf({}) };
       const verdicts = await Promise.all([guard.beforeBatch(batch), guard.beforeBatch(batch)]);
       let refused; try { createGuard({ driver, prefix: '' }); } catch (error) { refused = [isTurnbackError(error), error.code]; }
       console.log(JSON.stringify([verdicts.map(({ outcome }) => outcome), refused]));`,
      { cwd: home },
    );
    expect([ran.stderr, ran.stdout]).toEqual(['', '[["created","joined"],[true,"INVALID_ARGUMENT"]]\n']);
  });
});

describe('the two packages', () => {
  it('share the ids of turns', () => {
    const [[, native], [, wasm]] = PACKAGES;
    const context = {};
    expect(native.turnIdOf(context)).toBe(wasm.turnIdOf(context));
  });
});
