// What the guard's tests share: both packages, a clock that only moves when told to, a driver that does what it is told.
import * as native from 'turnback';
import * as policy from 'turnback-policy';
import { afterAll, beforeAll, expect } from 'vitest';

/** The guard over the native gate and over the one in WebAssembly: the same shell, the same answers (P5). */
export const PACKAGES = [
  ['native', native as Pick<typeof native, keyof typeof native & keyof typeof policy>],
  ['wasm', policy as unknown as Pick<typeof native, keyof typeof native & keyof typeof policy>],
] as const;

export type Package = (typeof PACKAGES)[number][1];
export type { Driver, Guard, GuardOptions, Verdict } from 'turnback';

/** Lets every promise that can settle do so. No time passes. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
}

/** A clock that stands still until it is moved, and jumps from timer to timer then. */
export class FakeClock implements native.GuardClock {
  /** Set it back or forth as you like: timers go by their own time, as real ones do. */
  shown = 1_700_000_000_000;
  #passed = 0;
  #timers: { at: number; wake: () => void }[] = [];

  now(): number {
    return this.shown;
  }

  schedule(ms: number, wake: () => void): () => void {
    const timer = { at: this.#passed + ms, wake };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer);
    };
  }

  get timers(): number {
    return this.#timers.length;
  }

  /** Moves on by `ms` and fires what is due on the way, each in its own moment. */
  async pass(ms: number): Promise<void> {
    await settled();
    const end = this.#passed + ms;
    for (;;) {
      const next = this.#timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      this.#move((next?.at ?? end) - this.#passed);
      if (next === undefined) break;
      this.#timers = this.#timers.filter((timer) => timer !== next);
      next.wake();
      await settled();
    }
    await settled();
  }

  #move(ms: number): void {
    this.#passed += ms;
    this.shown += ms;
  }
}

/** One call of {@link FakeDriver}. */
export interface Call {
  readonly sandboxId: string;
  readonly comment: string;
  readonly signal: AbortSignal;
  succeed(answer?: native.DriverAnswer): void;
  fail(error: unknown): void;
}

/** A driver whose attempts end when the test says so. */
export class FakeDriver implements native.Driver {
  readonly calls: Call[] = [];
  readonly deleted: string[] = [];
  paused = false;
  restored = 0;
  /** Checkpoints that somebody else deleted. */
  readonly gone = new Set<string>();

  createCheckpoint({ sandboxId, comment, signal }: native.DriverRequest): Promise<native.DriverAnswer> {
    return new Promise((resolve, reject) => {
      const id = `v${this.calls.length + 1}`;
      const succeed = (answer: native.DriverAnswer = { checkpointId: id }) => resolve(answer);
      this.calls.push({ sandboxId, comment, signal, succeed, fail: reject });
    });
  }

  async deleteCheckpoint(id: string): Promise<void> {
    this.deleted.push(id);
  }

  isPaused(): boolean {
    return this.paused;
  }

  restores(): number {
    return this.restored;
  }

  isDeleted(id: string): boolean {
    return this.gone.has(id);
  }

  get last(): Call {
    const call = this.calls.at(-1);
    if (call === undefined) throw new Error('the driver was not asked');
    return call;
  }
}

/** A logger that keeps what it is told. */
export class FakeLog {
  readonly lines: { level: string; message: string; fields: Record<string, unknown> }[] = [];
  debug = this.#level('debug');
  info = this.#level('info');
  warn = this.#level('warn');
  error = this.#level('error');

  #level(level: string) {
    return (fields: object, message: string) => {
      this.lines.push({ level, message, fields: fields as Record<string, unknown> });
    };
  }

  get warnings(): string[] {
    return this.lines.filter(({ level }) => level !== 'info' && level !== 'debug').map(({ message }) => message);
  }
}

/** A guard and all that is around it. The flag is on, whatever the environment says. */
export function scene(turnback: Package, options: native.GuardOptions = {}) {
  const [clock, driver, log] = [new FakeClock(), new FakeDriver(), new FakeLog()];
  const guard = turnback.createGuard({ driver, clock, logger: log, enabled: () => true, ...options });
  const batch = (turnId: string | undefined, sandboxId = 's') => guard.beforeBatch({ sandboxId, turnId });
  return { guard, clock, driver, log, batch };
}

/** What a promise gives that has to settle without any time passing: one that waits for more fails here, and does not hang. */
export async function atOnce<T>(promise: Promise<T>): Promise<T> {
  const { done } = watch(promise);
  await settled();
  if (!done()) throw new Error('it still waits');
  return promise;
}

/** A promise and whether it has settled: the tests look before they wait. */
export function watch<T>(promise: Promise<T>): { promise: Promise<T>; done: () => boolean } {
  let done = false;
  promise.then(
    () => {
      done = true;
    },
    () => {
      done = true;
    },
  );
  return { promise, done: () => done };
}

/** Fails the file if any promise was rejected with nobody to hear it. */
export function noUnhandledRejections(): void {
  const heard: unknown[] = [];
  const listener = (reason: unknown) => void heard.push(reason);
  beforeAll(() => void process.on('unhandledRejection', listener));
  afterAll(async () => {
    await settled();
    process.off('unhandledRejection', listener);
    expect(heard).toEqual([]);
  });
}
