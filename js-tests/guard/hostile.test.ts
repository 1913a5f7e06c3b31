// G5: an object that throws at whatever is done to it costs its own batch a checkpoint at most. Each object that the guard is given
// throws at its first interaction, at its second, and so on until there are no more; then at all of them.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { MISSILES, revoked, Saboteur } from './saboteur.js';
import {
  type Driver,
  FakeClock,
  FakeDriver,
  FakeLog,
  type Guard,
  type GuardOptions,
  noUnhandledRejections,
  PACKAGES,
  type Package,
  settled,
  type Verdict,
} from './support.js';

noUnhandledRejections();

const heard: unknown[] = [];
const listener = (error: unknown) => void heard.push(error);
beforeAll(() => void process.on('uncaughtException', listener));
afterAll(() => {
  process.off('uncaughtException', listener);
  expect(heard).toEqual([]);
});

const OUTCOMES = ['created', 'joined', 'already_covered', 'skipped', 'failed', 'timed_out'];

function expectWellFormed(verdict: Verdict): void {
  expect(OUTCOMES).toContain(verdict.outcome);
  expect([verdict.protected, verdict.late, verdict.partial].map((value) => typeof value)).toEqual(
    Array(3).fill('boolean'),
  );
  expect(verdict.reason).toBeTypeOf('string');
  expect(verdict.durationMs).toBeGreaterThanOrEqual(0);
  expect(Object.isFrozen(verdict)).toBe(true);
}

/** The only two ways in which a batch may be answered. */
async function answerOf(asked: Promise<Verdict>, block: boolean): Promise<Verdict> {
  try {
    const verdict = await asked;
    expectWellFormed(verdict);
    return verdict;
  } catch (error) {
    expect(block, String((error as Error).stack)).toBe(true);
    expect(error).toMatchObject({ code: 'CHECKPOINT_REQUIRED' });
    const { verdict } = (error as { details: { verdict: Verdict } }).details;
    expectWellFormed(verdict);
    return verdict;
  }
}

/** A driver that answers by itself, but for the sandbox `bystander`, whose checkpoint is made when the test says so. */
class WillingDriver extends FakeDriver {
  let: (() => void) | undefined;
  #made = 0;

  override createCheckpoint(request: Parameters<FakeDriver['createCheckpoint']>[0]) {
    const made = super.createCheckpoint(request);
    const call = this.last;
    this.#made += 1;
    const id = `w${this.#made}`;
    if (request.sandboxId === 'bystander') this.let = () => call.succeed({ checkpointId: id });
    else if (request.comment.endsWith('slow'))
      request.signal.addEventListener('abort', () => call.succeed({ checkpointId: id }));
    else if (request.comment.endsWith('bad')) {
      // Behind a proxy that throws nobody can hear it.
      made.catch(() => {});
      call.fail(new Error('bad'));
    } else call.succeed({ checkpointId: id });
    return made;
  }
}

interface Cast {
  options: GuardOptions;
  signal: AbortSignal | undefined;
  batch: (batch: object) => object;
}

/** What may be the saboteur, and how it gets into the scene. */
const ROLES: Record<string, (saboteur: Saboteur, cast: Cast) => void> = {
  driver: (saboteur, cast) => {
    cast.options.driver = saboteur.wrap(cast.options.driver as Driver);
  },
  logger: (saboteur, cast) => {
    cast.options.logger = saboteur.wrap(cast.options.logger as FakeLog);
  },
  clock: (saboteur, cast) => {
    cast.options.clock = saboteur.wrap(cast.options.clock as FakeClock);
  },
  enabled: (saboteur, cast) => {
    cast.options.enabled = saboteur.wrap(() => true);
  },
  'signal of a batch': (saboteur, cast) => {
    cast.signal = saboteur.wrap(new AbortController().signal);
  },
  batch: (saboteur, cast) => {
    cast.batch = (batch) => saboteur.wrap(batch);
  },
};

/** Everything that a guard does, with a bystander whose checkpoint is under way all the while. */
async function play(
  turnback: Package,
  role: keyof typeof ROLES,
  saboteur: Saboteur,
  at: number | 'always',
  block: boolean,
) {
  const [driver, clock] = [new WillingDriver(), new FakeClock()];
  const onFailure = block ? ('block' as const) : ('proceed' as const);
  const cast: Cast = {
    options: { driver, clock, logger: new FakeLog(), enabled: () => true, onFailure, timeoutMs: 1000 },
    signal: undefined,
    batch: (batch) => batch,
  };
  ROLES[role]?.(saboteur, cast);
  const guard: Guard = turnback.createGuard(cast.options);
  const bystander = guard.beforeBatch({ sandboxId: 'bystander', turnId: 'b' });
  saboteur.arm(at);
  const ask = (turnId: string, sandboxId = 's') => {
    const { signal } = cast;
    const asked = guard.beforeBatch(
      cast.batch({ sandboxId, turnId, ...(signal === undefined ? {} : { signal }) }) as never,
    );
    expect(asked).toBeInstanceOf(Promise);
    return answerOf(asked, block);
  };
  const pair = [ask('t'), ask('t')];
  await settled();
  const first = await Promise.all(pair);
  const covered = await ask('t');
  await ask('bad');
  const slow = ask('slow', 'other');
  await settled();
  driver.let?.();
  const seen = await answerOf(bystander, block);
  await clock.pass(1000);
  await slow;
  driver.paused = true;
  await ask('paused');
  driver.paused = false;
  guard.release(cast.batch({ sandboxId: 's', turnId: 't' }) as never);
  guard.forget('s');
  await settled();
  const count = saboteur.count;
  return { seen, covered, first, count, after: await ask('after'), timers: clock.timers };
}

describe.each(PACKAGES)('over the %s gate', (_, turnback) => {
  for (const role of Object.keys(ROLES)) {
    describe(`the ${role}`, () => {
      it.each(MISSILES)(
        'throws %s at its k-th interaction: every batch gets its answer, and the next is as ever',
        async (_name, missile) => {
          for (const block of [false, true]) {
            for (let k = 1; ; k += 1) {
              const played = await play(turnback, role, new Saboteur(missile), k, block);
              expect(played.seen, `at ${k}`).toMatchObject({ outcome: 'created', protected: true });
              // The throw is over by then.
              if (played.count < k) {
                expect(k).toBeGreaterThan(1);
                expect(played.covered).toMatchObject({ outcome: 'already_covered' });
                break;
              }
              expect(played.after, `at ${k}`).toMatchObject({ outcome: 'created', protected: true });
              expect(played.timers, `at ${k}`).toBe(0);
            }
          }
        },
      );

      it.each(MISSILES)('throws %s at every interaction', async (_name, missile) => {
        for (const block of [false, true]) {
          const { seen } = await play(turnback, role, new Saboteur(missile), 'always', block);
          expect(seen).toMatchObject({ outcome: 'created', protected: true });
        }
      });
    });
  }

  it('the environment throws: it counts as empty', async () => {
    vi.stubEnv('SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH', 'false');
    const { env } = process;
    try {
      const guard = turnback.createGuard({ driver: new WillingDriver(), clock: new FakeClock() });
      expect(await guard.beforeBatch({ sandboxId: 's', turnId: 't' })).toMatchObject({ reason: 'flag_off' });
      const saboteur = new Saboteur(() => new Error('sabotage'));
      process.env = saboteur.wrap({ ...env });
      saboteur.arm('always');
      const asked = guard.beforeBatch({ sandboxId: 's', turnId: 't' });
      process.env = env;
      expect(await asked).toMatchObject({ outcome: 'created' });
    } finally {
      process.env = env;
      vi.unstubAllEnvs();
    }
  });

  it.each<[string, () => unknown]>([
    ['nothing at all', () => revoked()],
    [
      'a promise of a class of its own, which hears nothing and rejects',
      () => new DeafPromise((_, reject) => reject(new Error('deaf'))),
    ],
    [
      'a promise whose then throws',
      () =>
        Object.defineProperty(Promise.reject(new Error('no')), 'then', {
          get: () => {
            throw new Error('then');
          },
        }),
    ],
    ['a frozen answer', async () => Object.freeze({ checkpointId: 'f' })],
  ])('a driver and a logger give %s for everything', async (_name, give) => {
    const options = (driver: object): GuardOptions => ({
      driver: driver as Driver,
      logger: { debug: give, info: give, warn: give, error: give } as GuardOptions['logger'],
      clock: new FakeClock(),
      enabled: () => true,
      timeoutMs: 1000,
    });
    const everything = {
      createCheckpoint: give,
      deleteCheckpoint: give,
      isPaused: give,
      restores: give,
      isDeleted: give,
    };
    for (const driver of [everything, Object.freeze(everything)]) {
      const given = options(driver);
      const guard = turnback.createGuard(Object.freeze(given));
      const asked = guard.beforeBatch(Object.freeze({ sandboxId: 's', turnId: 't' }));
      await (given.clock as FakeClock).pass(1000);
      expectWellFormed(await asked);
    }
  });

  it('options that cannot be read are refused, whatever they throw', () => {
    for (const [, missile] of MISSILES) {
      const saboteur = new Saboteur(missile);
      const options = saboteur.wrap({ driver: new WillingDriver() });
      saboteur.arm('always');
      expect(() => turnback.createGuard(options)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    }
  });

  it('deps that cannot be read are refused, whatever they throw', async () => {
    for (const [, missile] of MISSILES) {
      for (let k = 1; ; k += 1) {
        const saboteur = new Saboteur(missile);
        const deps = saboteur.wrap({ driver: new WillingDriver(), enabled: () => true, onFailure: 'block' as const });
        saboteur.arm(k);
        const asked = turnback.maybeCheckpointBeforeBatch(deps, { sandboxId: 's', turnId: 't' });
        const answer = await asked.then(expectWellFormed, (error: unknown) => error);
        if (answer !== undefined)
          expect(['INVALID_ARGUMENT', 'CHECKPOINT_REQUIRED']).toContain((answer as { code: unknown }).code);
        if (saboteur.count < k) break;
      }
    }
  });
});

/** Nobody who listens to it hears anything. */
class DeafPromise<T> extends Promise<T> {
  // biome-ignore lint/suspicious/noThenProperty: that is the point
  override then(): never {
    return this as never;
  }
}
