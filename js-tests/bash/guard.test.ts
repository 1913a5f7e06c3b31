// G13: the guard comes directly before the command and after everything that could refuse it. F29: what did not run gives its slot back.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type RunBashOptions, runBash, TurnbackError, type Verdict } from 'turnback';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ROOT } from '../node/support.js';
import { deferred, descriptors, recordingGuard, rejection, temporary, VERDICT, write } from './support.js';

/** Runs as JavaScript can: with anything. */
const loosely = (options: unknown) => runBash(options as RunBashOptions);

const LONG = 'x'.repeat(131_072);

describe('what is refused is refused before the guard is asked', () => {
  const invalid: [string, object, RegExp][] = [
    ['no directory', { sandbox: undefined }, /options.sandbox is neither a sandbox nor a directory/],
    ['a number for a directory', { sandbox: 5 }, /options.sandbox is neither/],
    ['half a sandbox', { sandbox: { id: 'x' } }, /options.sandbox is neither/],
    ['a sandbox with an empty id', { sandbox: { id: '', enter: async () => '/' } }, /sandbox.id has 0 bytes/],
    [
      'a sandbox whose id is two lines',
      { sandbox: { id: 'a\nb', enter: async () => '/' } },
      /sandbox.id holds control/,
    ],
    ['an empty path', { sandbox: '' }, /options.sandbox is empty/],
    ['a path with NUL', { sandbox: '/tmp/\0' }, /options.sandbox holds a NUL/],
    ['no command', { command: undefined }, /options.command is missing: pass a string/],
    ['an empty command', { command: '' }, /options.command has 0 bytes: it takes 1 to 131071/],
    ['a command with NUL', { command: 'echo \0' }, /options.command holds a NUL/],
    ['a command with half a character', { command: 'echo \ud800' }, /options.command holds half/],
    ['a command that is too long', { command: LONG }, /options.command has 131072 bytes/],
    ['a list for a command', { command: ['ls'] }, /options.command is an array/],
    ['an empty turn', { turnId: '' }, /options.turnId has 0 bytes: it takes 1 to 200/],
    ['a turn that is too long', { turnId: 'é'.repeat(101) }, /options.turnId has 202 bytes/],
    ['a time-out of 0', { timeoutMs: 0 }, /options.timeoutMs is not a whole number from 1/],
    ['a time-out that no timer takes', { timeoutMs: 2 ** 31 }, /options.timeoutMs/],
    ['a time-out that is text', { timeoutMs: '5' }, /options.timeoutMs/],
    ['too little output', { maxOutputBytes: 255 }, /options.maxOutputBytes is not a whole number from 256/],
    ['too much output', { maxOutputBytes: 2 ** 28 + 1 }, /options.maxOutputBytes/],
    ['a list for env', { env: ['A=b'] }, /options.env is an array/],
    ['a variable that is a number', { env: { A: 1 } }, /options.env\["A"\] is a value of type number/],
    ['a variable with NUL', { env: { A: '\0' } }, /options.env\["A"\] holds a NUL/],
    ['a name with an equals sign', { env: { 'A=B': 'c' } }, /name with an equals sign/],
    ['an empty name', { env: { '': 'c' } }, /a name in options.env has 0 bytes/],
    ['a variable that is too long', { env: { A: LONG } }, /options.env\["A"\] is too long/],
    ['a signal that is none', { signal: {} }, /options.signal .*pass an AbortSignal/],
    ['a listener that is none', { onOutput: 'x' }, /options.onOutput .*pass a function/],
    ['an unknown option', { timeout: 5 }, /options has no "timeout": it takes sandbox, command/],
  ];

  it.each(invalid)('%s', async (_, wrong, pattern) => {
    const { guard, asked, released } = recordingGuard();
    const sandbox = temporary();
    const error = await rejection(loosely({ sandbox, command: 'touch ran', turnId: 't', guard, ...wrong }));
    expect(error).toMatchObject({ name: 'TurnbackError', code: 'INVALID_ARGUMENT', retryable: false });
    expect((error as Error).message).toMatch(pattern);
    expect((error as Error).message.length).toBeLessThan(400);
    expect([asked, released, existsSync(join(sandbox, 'ran'))]).toEqual([[], [], false]);
  });

  it.each([[null], [{}], [{ beforeBatch: () => {} }], [5], [() => {}]])('a guard that is none: %s', async (guard) => {
    expect(await rejection(loosely({ sandbox: temporary(), command: 'true', guard }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/options.guard is no guard/),
    });
  });

  it('no options at all', async () => {
    for (const options of [undefined, null, 5, 'ls', []]) {
      expect(await rejection(loosely(options))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });

  it.each([
    ['NOT_FOUND', 'missing'],
    ['NOT_A_DIRECTORY', 'file'],
    ['NOT_A_DIRECTORY', 'file/below'],
  ])('%s: the directory %s', async (code, name) => {
    const { guard, asked } = recordingGuard();
    const path = join(write(temporary(), { file: '' }), name);
    expect(await rejection(runBash({ sandbox: path, command: 'true', guard, turnId: 't' }))).toMatchObject({
      code,
      details: { path },
    });
    expect(asked).toEqual([]);
  });

  it.skipIf(ROOT)('PERMISSION_DENIED: a directory that cannot be entered (root can enter all)', async () => {
    const { guard, asked } = recordingGuard();
    const closed = join(write(temporary(), { 'closed/': '' }), 'closed');
    await runBash({ sandbox: closed, command: 'chmod 0 .' });
    onTestFinished(() => rmSync(closed, { recursive: true, force: true }));
    expect(await rejection(runBash({ sandbox: closed, command: 'true', guard, turnId: 't' }))).toMatchObject({
      code: 'PERMISSION_DENIED',
    });
    expect(asked).toEqual([]);
  });

  it('a sandbox that cannot be entered, with its own error', async () => {
    const { guard, asked } = recordingGuard();
    const refused = new TurnbackError('ILLEGAL_TRANSITION', 'it is CLEANED_UP');
    const sandbox = { id: 's', enter: () => Promise.reject(refused) };
    expect(await rejection(runBash({ sandbox, command: 'true', guard, turnId: 't' }))).toBe(refused);
    expect(asked).toEqual([]);
  });

  it('a place where no pipe can be made', async () => {
    const { guard, asked } = recordingGuard();
    const sandbox = temporary();
    const before = process.env.TMPDIR;
    onTestFinished(() => {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
    });
    process.env.TMPDIR = join(sandbox, 'nowhere');
    expect(await rejection(runBash({ sandbox, command: 'true', guard, turnId: 't' }))).toMatchObject({
      code: 'NOT_FOUND',
      message: expect.stringMatching(/^no pipe for the output can be made .*TMPDIR/),
    });
    expect(asked).toEqual([]);
  });

  it('a signal that has fired', async () => {
    const { guard, asked } = recordingGuard();
    let entered = false;
    const enter = async () => {
      entered = true;
      return '/';
    };
    const reason = new Error('gone');
    const error = await rejection(
      runBash({ sandbox: { id: 's', enter }, command: 'true', guard, turnId: 't', signal: AbortSignal.abort(reason) }),
    );
    expect(error).toMatchObject({ code: 'ABORTED' });
    expect((error as Error).cause).toBe(reason);
    expect([asked, entered]).toEqual([[], false]);
  });

  it('a signal that fires while the sandbox is entered', async () => {
    const { guard, asked } = recordingGuard();
    const controller = new AbortController();
    const enter = async () => {
      controller.abort();
      return '/';
    };
    const ran = runBash({
      sandbox: { id: 's', enter },
      command: 'true',
      guard,
      turnId: 't',
      signal: controller.signal,
    });
    expect(await rejection(ran)).toMatchObject({ code: 'ABORTED' });
    expect(asked).toEqual([]);
  });
});

describe('the guard', () => {
  it('is asked once, after the sandbox was entered and before the command runs', async () => {
    const directory = temporary();
    const events: string[] = [];
    const { guard, asked, released } = recordingGuard(async () => {
      events.push(`guard: ${existsSync(join(directory, 'ran')) ? 'ran' : 'not yet'}`);
      return VERDICT;
    });
    const enter = async () => {
      events.push('enter');
      return directory;
    };
    const { signal } = new AbortController();
    const result = await runBash({
      sandbox: { id: 's', enter },
      command: 'touch ran; echo command',
      guard,
      turnId: 'turn',
      signal,
      onOutput: ({ data }) => void events.push(Buffer.from(data).toString().trim()),
    });
    expect(events).toEqual(['enter', 'guard: not yet', 'command']);
    expect(asked).toEqual([{ sandboxId: 's', turnId: 'turn', command: 'touch ran; echo command', signal }]);
    expect(result.checkpoint).toBe(VERDICT);
    expect(released).toEqual([]);
  });

  it('holds the command back for as long as it works', async () => {
    const directory = temporary();
    const asked = deferred<void>();
    const answer = deferred<Verdict>();
    const { guard } = recordingGuard(() => {
      asked.resolve();
      return answer.promise;
    });
    const ran = runBash({ sandbox: directory, command: 'touch ran', guard, turnId: 't' });
    await asked.promise;
    // Another command goes by from start to end: that one would have run as well.
    await runBash({ sandbox: directory, command: 'true' });
    expect(existsSync(join(directory, 'ran'))).toBe(false);
    answer.resolve(VERDICT);
    await ran;
    expect(existsSync(join(directory, 'ran'))).toBe(true);
  });

  it('that rejects keeps the command from running, and its error comes through (G5)', async () => {
    const directory = temporary();
    const refused = new TurnbackError('CHECKPOINT_REQUIRED', 'no checkpoint could be made');
    for (const answer of [
      () => Promise.reject(refused),
      () => {
        throw refused;
      },
    ]) {
      const { guard, released } = recordingGuard();
      guard.beforeBatch = answer;
      expect(await rejection(runBash({ sandbox: directory, command: 'touch ran', guard, turnId: 't' }))).toBe(refused);
      expect([released, existsSync(join(directory, 'ran'))]).toEqual([[], false]);
    }
  });

  it('an unprotected verdict lets the command run, and the result says so (G5, G9)', async () => {
    const failed: Verdict = { ...VERDICT, outcome: 'failed', protected: false, reason: 'driver_failed' };
    const { guard } = recordingGuard(() => failed);
    expect(await runBash({ sandbox: temporary(), command: 'true', guard, turnId: 't' })).toMatchObject({
      exitCode: 0,
      checkpoint: failed,
    });
  });

  it('a command that fails or times out ran: its slot is kept', async () => {
    const { guard, released } = recordingGuard();
    const common = { sandbox: temporary(), guard, turnId: 't' };
    await runBash({ ...common, command: 'exit 1' });
    await runBash({ ...common, command: 'exec sleep 1000', timeoutMs: 50 });
    expect(released).toEqual([]);
  });

  it('without one, there is no verdict', async () => {
    expect(await runBash({ sandbox: temporary(), command: 'true', turnId: 't' })).not.toHaveProperty('checkpoint');
  });
});

describe('F29: a command that did not run after its checkpoint gives the slot back, once', () => {
  it('the directory went away while the guard worked', async () => {
    const directory = temporary();
    const open = descriptors();
    const { guard, released } = recordingGuard(() => {
      rmSync(directory, { recursive: true });
      return VERDICT;
    });
    const error = await rejection(runBash({ sandbox: directory, command: 'true', guard, turnId: 't' }));
    expect(error).toMatchObject({ code: 'NOT_FOUND', details: { path: directory } });
    expect((error as Error).message).toMatch(/did not run/);
    expect(released).toMatchObject([{ sandboxId: directory, turnId: 't' }]);
    expect(descriptors()).toBe(open);
  });

  it('command and environment are too long together', async () => {
    const { guard, released } = recordingGuard();
    const env = Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`V${at}`, 'x'.repeat(130_000)]));
    expect(await rejection(runBash({ sandbox: temporary(), command: 'true', env, guard, turnId: 't' }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringMatching(/too long together/),
    });
    expect(released).toHaveLength(1);
  });

  it('the signal fired as the guard answered', async () => {
    const directory = temporary();
    const controller = new AbortController();
    const { guard, released } = recordingGuard(() => {
      controller.abort('late');
      return VERDICT;
    });
    const { signal } = controller;
    const error = await rejection(runBash({ sandbox: directory, command: 'touch ran', guard, turnId: 't', signal }));
    expect(error).toMatchObject({ code: 'ABORTED', cause: 'late' });
    await new Promise(setImmediate);
    expect([released.length, existsSync(join(directory, 'ran'))]).toEqual([1, false]);
  });

  it('the signal fired while the guard worked: the call ends at once, the slot goes back when the guard answers', async () => {
    const controller = new AbortController();
    const asked = deferred<void>();
    const answer = deferred<Verdict>();
    const { guard, released } = recordingGuard(() => {
      asked.resolve();
      return answer.promise;
    });
    const ran = runBash({ sandbox: temporary(), command: 'true', guard, turnId: 't', signal: controller.signal });
    await asked.promise;
    controller.abort();
    expect(await rejection(ran)).toMatchObject({ code: 'ABORTED' });
    expect(released).toEqual([]);
    answer.resolve(VERDICT);
    await new Promise(setImmediate);
    expect(released).toHaveLength(1);
  });

  it('a guard that refuses after the signal fired has nothing to give back', async () => {
    const controller = new AbortController();
    const asked = deferred<void>();
    const answer = deferred<Verdict>();
    const { guard, released } = recordingGuard(() => {
      asked.resolve();
      return answer.promise;
    });
    const ran = runBash({ sandbox: temporary(), command: 'true', guard, turnId: 't', signal: controller.signal });
    await asked.promise;
    controller.abort();
    expect(await rejection(ran)).toMatchObject({ code: 'ABORTED' });
    answer.reject(new TurnbackError('CHECKPOINT_REQUIRED', 'none'));
    await new Promise(setImmediate);
    expect(released).toEqual([]);
  });

  it.each([
    ['without a turn', undefined, VERDICT],
    [
      'proven read-only (G14)',
      't',
      { ...VERDICT, outcome: 'skipped', protected: false, reason: 'read_only' } as Verdict,
    ],
  ])('a command %s holds no slot', async (_, turnId, verdict) => {
    const directory = temporary();
    const { guard, released } = recordingGuard(() => {
      rmSync(directory, { recursive: true });
      return verdict;
    });
    expect(await rejection(runBash({ sandbox: directory, command: 'true', guard, turnId }))).toMatchObject({
      code: 'NOT_FOUND',
    });
    expect(released).toEqual([]);
  });

  it('a release that throws does not hide why the command did not run', async () => {
    const directory = temporary();
    const { guard } = recordingGuard(() => {
      rmSync(directory, { recursive: true });
      return VERDICT;
    });
    guard.release = () => {
      throw new Error('release');
    };
    const warned = new Promise<Error>((resolve) => process.once('warning', resolve));
    expect(await rejection(runBash({ sandbox: directory, command: 'true', guard, turnId: 't' }))).toMatchObject({
      code: 'NOT_FOUND',
    });
    expect((await warned).message).toMatch(/guard.release failed/);
  });
});
