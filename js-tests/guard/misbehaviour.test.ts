// G5: whatever drivers, loggers and callbacks do instead of what they should, the batch gets its verdict, and nothing else happens.
import { checkedAnswer } from 'turnback';
import { shellOf } from 'turnback-policy/shell';
import { describe, expect, it, vi } from 'vitest';
import {
  type Driver,
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

/** A driver whose `createCheckpoint` does this. */
const driverThat = (createCheckpoint: unknown) => ({ createCheckpoint }) as Driver;

type Then = (resolve: (value: unknown) => void, reject: (error: unknown) => void) => void;

/** A promise that gives nobody what it has. */
class LyingPromise<T> extends Promise<T> {
  // biome-ignore lint/suspicious/noThenProperty: that is the point
  override then(): never {
    return Promise.reject(new Error('lie')) as never;
  }
}

/** A promise that begins its work when somebody asks for it, and is fulfilled with nothing until then, as those of `p-lazy` are. */
class LazyPromise<T> extends Promise<T> {
  #work: (() => Promise<T>) | undefined;
  static of<T>(work: () => Promise<T>): LazyPromise<T> {
    const lazy = new LazyPromise<T>((resolve) => resolve(undefined as T));
    lazy.#work = work;
    return lazy;
  }
  // biome-ignore lint/suspicious/noThenProperty: that is the point
  override then<A = T, B = never>(
    fulfilled?: ((value: T) => A | PromiseLike<A>) | null,
    rejected?: ((error: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return (this.#work?.() ?? Promise.reject(new Error('no work'))).then(fulfilled, rejected);
  }
}

/** What `await` takes for a promise. */
function thenable(then: PropertyDescriptor & ThisType<object>): object {
  return Object.defineProperty({}, 'then', then);
}
const thenableThat = (then: Then) => thenable({ value: then });
/** An object with a property that nobody can read. */
const thrower = (name: string, others: object) =>
  Object.defineProperty({ ...others }, name, { enumerable: true, get: throws(name) });
const throws = (message: string) => () => {
  throw new Error(message);
};

describe.each(PACKAGES)('over the %s gate', (_, turnback) => {
  describe('a driver that', () => {
    it.each<[string, () => unknown]>([
      [
        'throws at once',
        () => {
          throw new Error('at once');
        },
      ],
      [
        'throws what is no error',
        () => {
          throw null;
        },
      ],
      ['rejects', () => Promise.reject(new Error('rejected'))],
      ['rejects with nothing', () => Promise.reject()],
      ['returns nothing, not even a promise', () => undefined],
      ['returns a number', () => 7],
      ['resolves with null', async () => null],
      ['resolves with a text', async () => 'v1'],
      ['resolves with an array', async () => []],
      ['resolves with a response', async () => new Response('no space', { status: 500 })],
      ['resolves with an error', async () => new Error('no space')],
      [
        'resolves with an error that names an id',
        async () => Object.assign(new Error('no space'), { checkpointId: 'v1' }),
      ],
      ['resolves with a stream', async () => new ReadableStream()],
      ['resolves with an answer that speaks of an error', async () => ({ checkpointId: 'v1', error: 'boom' })],
      ['resolves with another object', async () => ({ id: 'v1' })],
      ['resolves with an id that is no text', async () => ({ checkpointId: 7 })],
      ['resolves with an empty id', async () => ({ checkpointId: '' })],
      ['resolves with an id of a megabyte', async () => ({ checkpointId: 'x'.repeat(1 << 20) })],
      ['resolves with an id of 201 bytes', async () => ({ checkpointId: `${'ä'.repeat(100)}x` })],
      ['resolves with a control character in the id', async () => ({ checkpointId: 'a\nb' })],
      ['resolves with half a character in the id', async () => ({ checkpointId: '\ud800' })],
      ['resolves with a partial that is no boolean', async () => ({ checkpointId: 'v1', partial: 1 })],
      [
        'resolves with an object whose getter throws',
        async () => ({
          get checkpointId() {
            throw new Error('getter');
          },
        }),
      ],
      [
        'returns a promise whose own then listens to nobody and rejects',
        () => new LyingPromise((resolve) => resolve({ checkpointId: 'v1' })),
      ],
      ['returns such a promise that rejects', () => new LyingPromise((_, reject) => reject(new Error('no')))],
      ['returns a thenable that throws', () => thenableThat(throws('then'))],
      ['returns a thenable whose then cannot be read', () => thenable({ get: throws('then') })],
      [
        'returns a thenable that rejects, then resolves',
        () =>
          thenableThat((resolve, reject) => {
            reject(new Error('first'));
            resolve({ checkpointId: 'second' });
            throw new Error('third');
          }),
      ],
    ])('%s has failed: one warning, and the next batch tries again', async (_name, create) => {
      let calls = 0;
      const driver = driverThat(() => {
        calls += 1;
        return create();
      });
      const { batch, log } = scene(turnback, { driver });
      expect(await batch('t')).toMatchObject({ outcome: 'failed', reason: 'driver_failed', protected: false });
      expect(log.lines).toHaveLength(1);
      expect(log.lines[0]).toMatchObject({ level: 'warn', fields: { sandboxId: 's', turnId: 't' } });
      await batch('t');
      expect(calls).toBe(2);
    });

    it.each<[string, () => unknown, object]>([
      ['resolves with nothing', async () => {}, {}],
      ['resolves with an empty object', async () => ({}), {}],
      ['answers without a promise', () => ({ checkpointId: 'v' }), { checkpointId: 'v' }],
      ['says more than was asked', async () => ({ checkpointId: 'v', size: 7 }), { checkpointId: 'v' }],
      [
        'returns a thenable that settles twice',
        () =>
          thenableThat((resolve, reject) => {
            resolve({ checkpointId: 'v' });
            reject(new Error('no'));
            resolve({ checkpointId: 'w' });
          }),
        { checkpointId: 'v' },
      ],
    ])('%s has made one', async (_name, create, expected) => {
      const { batch, log } = scene(turnback, { driver: driverThat(create) });
      expect(await batch('t')).toMatchObject({ outcome: 'created', protected: true, ...expected });
      expect(log.warnings).toEqual([]);
    });

    it('ignores its signal is given up all the same; what it says later changes nothing', async () => {
      const { batch, driver, clock, log } = scene(turnback, { timeoutMs: 100 });
      const first = watch(batch('t'));
      await clock.pass(100);
      expect(await first.promise).toMatchObject({ outcome: 'timed_out' });
      const second = batch('t');
      driver.calls[0]?.fail(new Error('much later'));
      await settled();
      driver.calls[1]?.succeed();
      expect(await second).toMatchObject({ outcome: 'created', checkpointId: 'v2' });
      expect(log.warnings).toHaveLength(1);
    });

    it('fails to delete what came too late: one warning', async () => {
      for (const deleteCheckpoint of [
        () => Promise.reject(new Error('gone')),
        () => {
          throw new Error('gone');
        },
      ]) {
        const { batch, driver, clock, log } = scene(turnback);
        driver.deleteCheckpoint = deleteCheckpoint;
        const asked = batch('t');
        await clock.pass(10_000);
        await asked;
        driver.last.succeed();
        await settled();
        expect(log.warnings).toHaveLength(2);
        expect(log.warnings[1]).toMatch(/could not be deleted/);
      }
    });

    it('cannot even be asked whether it deletes: whoever waits then has nothing to do with it', async () => {
      const { batch, driver, clock, log } = scene(turnback);
      Object.defineProperty(driver, 'deleteCheckpoint', { get: throws('getter') });
      const given = batch('t');
      await clock.pass(10_000);
      await given;
      const second = batch('u', 'second');
      driver.calls[0]?.succeed();
      await settled();
      const third = batch('v', 'third');
      // The first is deleted when the second has ended; the third waits meanwhile.
      driver.calls[1]?.succeed();
      expect(await second).toMatchObject({ outcome: 'created' });
      driver.calls[2]?.succeed();
      expect(await third).toMatchObject({ outcome: 'created' });
      expect(log.lines.some(({ level }) => level === 'error')).toBe(false);
    });

    it('cannot delete at all: what came too late stays', async () => {
      const { batch, driver, clock, log } = scene(turnback);
      Object.assign(driver, { deleteCheckpoint: undefined });
      const asked = batch('t');
      await clock.pass(10_000);
      await asked;
      driver.last.succeed();
      await settled();
      expect(log.warnings).toHaveLength(1);
    });

    it('asks the guard again while it is asked: each batch gets its verdict', async () => {
      const inner: Promise<unknown>[] = [];
      let made = 0;
      const driver = driverThat(async () => {
        made += 1;
        if (made === 1) {
          inner.push(
            guard.beforeBatch({ sandboxId: 's', turnId: 't' }),
            guard.beforeBatch({ sandboxId: 's', turnId: 'u' }),
          );
          guard.release({ sandboxId: 'x', turnId: 'y' });
          guard.forget('x');
        }
        return { checkpointId: `v${made}` };
      });
      const { guard, batch, clock } = scene(turnback, { driver });
      expect(await batch('t')).toMatchObject({ outcome: 'created', checkpointId: 'v1' });
      expect(await Promise.all(inner)).toMatchObject([
        { outcome: 'joined', checkpointId: 'v1' },
        { outcome: 'created', checkpointId: 'v2' },
      ]);
      expect(clock.timers).toBe(0);
    });

    it('cannot say whether it is paused or restored: it counts as neither, with one warning each', async () => {
      const { batch, driver, log } = scene(turnback);
      driver.isPaused = () => {
        throw new Error('closed');
      };
      driver.restores = () => {
        throw new Error('closed');
      };
      for (const turn of ['a', 'b']) {
        const asked = batch(turn);
        driver.last.succeed();
        expect(await asked).toMatchObject({ outcome: 'created' });
        expect(await batch(turn)).toMatchObject({ outcome: 'already_covered' });
      }
      expect(log.warnings).toHaveLength(2);
    });
  });

  it('a promise with a then of its own: it is asked once, and the checkpoint counts when that one says so', async () => {
    let [begun, end] = [0, () => {}];
    const driver = driverThat(() =>
      LazyPromise.of(() => {
        begun += 1;
        return new Promise((resolve) => {
          end = () => resolve({ checkpointId: 'lazy' });
        });
      }),
    );
    const { batch } = scene(turnback, { driver });
    const asked = watch(batch('t'));
    await settled();
    expect([begun, asked.done()]).toEqual([1, false]);
    end();
    expect(await asked.promise).toMatchObject({ outcome: 'created', checkpointId: 'lazy' });
    expect(begun).toBe(1);
  });

  it('a thenable is asked once', async () => {
    let asked = 0;
    const then: Then = (resolve) => {
      asked += 1;
      resolve({ checkpointId: 'v' });
    };
    const { batch } = scene(turnback, { driver: driverThat(() => thenableThat(then)) });
    expect(await batch('t')).toMatchObject({ outcome: 'created', checkpointId: 'v' });
    expect(asked).toBe(1);
  });

  describe('a logger that', () => {
    it.each<[string, () => unknown]>([
      [
        'throws',
        () => {
          throw new Error('log');
        },
      ],
      ['rejects', () => Promise.reject(new Error('log'))],
      ['returns a thenable that throws', () => thenableThat(throws('log'))],
      [
        'returns what cannot be looked at',
        () =>
          new Proxy(
            {},
            {
              has: () => {
                throw new Error('log');
              },
            },
          ),
      ],
    ])('%s changes nothing', async (_name, level) => {
      const logger = { debug: level, info: level, warn: level, error: level } as GuardOptions['logger'];
      const { batch, driver, guard } = scene(turnback, { logger });
      const failed = batch('t');
      driver.last.fail(new Error('no'));
      expect(await failed).toMatchObject({ outcome: 'failed' });
      const created = batch('t');
      driver.last.succeed();
      expect(await created).toMatchObject({ outcome: 'created' });
      expect(await guard.beforeBatch(null as never)).toMatchObject({ reason: 'invalid_batch' });
      guard.release(null as never);
      guard.forget(null as never);
    });
  });

  describe('an `enabled` that', () => {
    it.each<[string, () => unknown]>([
      [
        'throws',
        () => {
          throw new Error('enabled');
        },
      ],
      ['gives no boolean', () => 'true'],
      ['gives a promise that rejects', () => Promise.reject(new Error('enabled'))],
    ])('%s leaves it to the environment, with one warning', async (_name, enabled) => {
      vi.stubEnv('SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH', 'false');
      try {
        const { batch, driver, log } = scene(turnback, { enabled: enabled as () => boolean });
        expect(await batch('t')).toMatchObject({ reason: 'flag_off' });
        vi.stubEnv('SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH', 'true');
        const asked = batch('t');
        driver.last.succeed();
        expect(await asked).toMatchObject({ outcome: 'created' });
        expect(log.warnings).toHaveLength(1);
      } finally {
        vi.unstubAllEnvs();
      }
    });
  });

  describe('a batch that is none', () => {
    it.each<[string, unknown]>([
      ['nothing', undefined],
      ['null', null],
      ['a text', 's'],
      ['nothing in it', {}],
      ['a sandbox that cannot be read', thrower('sandboxId', { turnId: 't' })],
      ['a turn that cannot be read', thrower('turnId', { sandboxId: 's' })],
      ['no sandbox', { turnId: 't' }],
      ['an empty sandbox', { sandboxId: '', turnId: 't' }],
      ['a sandbox of 201 bytes', { sandboxId: 'x'.repeat(201), turnId: 't' }],
      ['a turn that is a number', { sandboxId: 's', turnId: 7 }],
      ['an empty turn', { sandboxId: 's', turnId: '' }],
      ['a turn of 201 bytes', { sandboxId: 's', turnId: 'x'.repeat(201) }],
      ['half a character in the turn', { sandboxId: 's', turnId: '\ud800' }],
      ['a signal that is none', { sandboxId: 's', turnId: 't', signal: {} }],
    ])('%s: failed, invalid_batch, one warning, no driver', async (_name, given) => {
      const { guard, driver, log, batch } = scene(turnback);
      expect(await guard.beforeBatch(given as never)).toEqual({
        outcome: 'failed',
        protected: false,
        late: false,
        partial: false,
        reason: 'invalid_batch',
        durationMs: 0,
      });
      expect(log.warnings).toHaveLength(1);
      expect(log.lines[0]).toMatchObject({ fields: { err: { code: 'INVALID_ARGUMENT' } } });
      expect(driver.calls).toEqual([]);
      const asked = batch('t');
      driver.last.succeed();
      // It ran: where its turn can be read, that turn's checkpoint is late.
      const late = typeof given === 'object' && given !== null && 'signal' in given;
      expect(await asked).toMatchObject({ outcome: 'created', late });
      // Also where a turn is covered; such a batch needs no signal.
      if (typeof given === 'object' && given !== null && 'signal' in given) return;
      expect(await guard.beforeBatch(given as never)).toMatchObject({ reason: 'invalid_batch' });
      const strict = scene(turnback, { onFailure: 'block' });
      for (const made of [false, true]) {
        if (made) {
          const first = strict.batch('t');
          strict.driver.last.succeed();
          await first;
        }
        await expect(strict.guard.beforeBatch(given as never)).rejects.toMatchObject({
          code: 'CHECKPOINT_REQUIRED',
          retryable: false,
        });
      }
    });

    it('a signal whose methods reject is one that never fires', async () => {
      const { guard, driver } = scene(turnback);
      const rejects = () => Promise.reject(new Error('signal'));
      const signal = { aborted: false, addEventListener: rejects, removeEventListener: rejects } as never;
      const asked = guard.beforeBatch({ sandboxId: 's', turnId: 't', signal });
      driver.last.succeed();
      expect(await asked).toMatchObject({ outcome: 'created' });
    });

    it('half a character never passes for the character that it becomes on the way', async () => {
      const { batch, driver } = scene(turnback);
      const asked = batch('\ufffd');
      driver.last.succeed();
      await asked;
      expect(await batch('\ud800')).toMatchObject({ reason: 'invalid_batch' });
    });
  });
});

describe.each(PACKAGES)('a clock that breaks, over the %s gate', (_, turnback) => {
  it.each<[string, () => unknown]>([
    ['throws', throws('clock')],
    ['gives no number', () => 'noon'],
    ['gives infinity', () => Number.POSITIVE_INFINITY],
  ])('%s for the time: the batch passes', async (_name, now) => {
    const clock = Object.assign(new FakeClock(), { now: now as () => number });
    const { batch, driver } = scene(turnback, { clock });
    const asked = batch('t');
    driver.calls[0]?.succeed();
    expect(['created', 'failed']).toContain((await asked).outcome);
  });

  it("throws when it is to wake: the system's timers are used, with one warning", async () => {
    const clock = Object.assign(new FakeClock(), { schedule: throws('clock') });
    const { batch, driver, log } = scene(turnback, { clock, timeoutMs: 1 });
    expect(await batch('t')).toMatchObject({ outcome: 'timed_out', reason: 'unfinished' });
    expect(driver.last.signal.aborted).toBe(true);
    const asked = batch('u');
    driver.last.succeed();
    expect(await asked).toMatchObject({ outcome: 'created' });
    expect(log.warnings.filter((message) => message.includes('clock'))).toHaveLength(1);
  });

  it('wakes at once, twice, or cannot be taken back: each batch gets its verdict', async () => {
    for (const schedule of [
      (_: number, wake: () => void) => {
        wake();
        return () => {};
      },
      (_: number, wake: () => void) => {
        queueMicrotask(wake);
        queueMicrotask(wake);
        return throws('cancel');
      },
      (_: number, wake: () => void) => {
        queueMicrotask(wake);
        return undefined as never;
      },
    ]) {
      const clock = Object.assign(new FakeClock(), { schedule });
      const { batch, log } = scene(turnback, { clock });
      expect(await batch('t')).toMatchObject({ outcome: 'timed_out' });
      expect(await batch('u')).toMatchObject({ outcome: 'timed_out' });
      expect(log.lines.some(({ level }) => level === 'error')).toBe(false);
    }
  });
});

it.each<[string, unknown]>([
  ['null', null],
  ['a text', 'v1'],
  ['another object', { id: 'v1' }],
  ['an empty id', { checkpointId: '' }],
  ['an id of 201 bytes', { checkpointId: `${'ä'.repeat(100)}x` }],
  ['a control character in the id', { checkpointId: 'a\nb' }],
  ['a partial that is no boolean', { checkpointId: 'v1', partial: 1 }],
])('checkedAnswer, which drivers test themselves with, refuses what the guard refuses: %s', (_name, answer) => {
  expect(() => checkedAnswer(answer)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
});

it('checkedAnswer takes an id of 200 bytes, as the guard does', async () => {
  const checkpointId = 'ä'.repeat(100);
  expect(checkedAnswer({ checkpointId })).toEqual({ checkpointId, partial: false });
  const [[, turnback]] = PACKAGES;
  const { batch } = scene(turnback, { driver: driverThat(async () => ({ checkpointId })) });
  expect(await batch('t')).toMatchObject({ outcome: 'created', checkpointId });
});

describe('a gate that breaks', () => {
  const broken = (at: string, options: GuardOptions = {}) => {
    const [driver, log, clock] = [new FakeDriver(), new FakeLog(), new FakeClock()];
    const answers: Record<string, object[]> = {
      batch: [
        { type: 'start', attempt: 1, sandboxId: 's', turnId: 't', comment: 'c', late: false, deadline: 10_000 },
        { type: 'timeout', at: 10_000, reason: 'batch_limit' },
      ],
    };
    const shell = shellOf({
      openGate: () => ({
        handle: (input) => {
          const { type } = JSON.parse(input) as { type: string };
          if (type === at) throw new Error('broken');
          return JSON.stringify(answers[type] ?? [{ type: 'idle' }]);
        },
        passCovered: () => undefined,
      }),
      resolveFlag: () => ({ enabled: true, reason: 'explicit_true' }),
      error: (code, message, parts) => Object.assign(new Error(message), { code, ...parts }),
    });
    const guard = shell.createGuard({ driver, logger: log, clock, enabled: () => true, ...options });
    return { guard, driver, log, clock, asked: guard.beforeBatch({ sandboxId: 's', turnId: 't' }) };
  };

  it('at a batch: the batch passes', async () => {
    const { asked, log } = broken('batch');
    expect(await asked).toMatchObject({ outcome: 'failed', reason: 'guard_failed' });
    expect(log.warnings).toHaveLength(1);
  });

  it.each(['created', 'failed', 'tick'])('at %s: whoever waits passes, the driver is told to stop', async (at) => {
    const { asked, driver, clock, log } = broken(at);
    await settled();
    if (at === 'created') driver.last.succeed();
    if (at === 'failed') driver.last.fail(new Error('no'));
    if (at === 'tick') await clock.pass(10_000);
    expect(await asked).toMatchObject({ outcome: 'failed', reason: 'guard_failed', protected: false });
    expect(clock.timers).toBe(0);
    if (at === 'tick') expect(driver.last.signal.aborted).toBe(true);
    expect(log.lines.some(({ level }) => level === 'error')).toBe(true);
  });

  it("with onFailure: 'block' the batches do not pass", async () => {
    const early = broken('batch', { onFailure: 'block' });
    await expect(early.asked).rejects.toMatchObject({ code: 'CHECKPOINT_REQUIRED' });
    const late = broken('created', { onFailure: 'block' });
    late.driver.last.succeed();
    await expect(late.asked).rejects.toMatchObject({ code: 'CHECKPOINT_REQUIRED' });
  });
});
