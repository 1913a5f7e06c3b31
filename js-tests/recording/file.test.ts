// P4, X5: the file of a recording: private, never written over, never in the agent's way, and readable whatever ends the process.
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createGuard } from 'turnback';
import { openRecording } from 'turnback/recording';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { noUnhandledRejections, settled } from '../guard/support.js';
import { rejection, temporary } from '../node/support.js';
import { prompt, scene } from './support.js';

noUnhandledRejections();

/** The module whose functions the package calls. */
const fs = process.getBuiltinModule('node:fs');

describe('the file', () => {
  it('is for nobody else to read, whatever the umask', async () => {
    const before = process.umask(0);
    onTestFinished(() => void process.umask(before));
    const { file, lines } = await scene();
    await lines();
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it('is a new one', async () => {
    const file = join(temporary(), 'day.jsonl');
    writeFileSync(file, 'mine');
    expect(await rejection(openRecording({ file }))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('exists'),
    });
    expect(readFileSync(file, 'utf8')).toBe('mine');
    const missing = openRecording({ file: join(temporary(), 'missing', 'day.jsonl') });
    expect(await rejection(missing)).toMatchObject({ code: 'NOT_FOUND' });
  });

  it('is refused with options that cannot be right', async () => {
    const file = join(temporary(), 'day.jsonl');
    for (const wrong of [
      undefined,
      {},
      { file: 7 },
      { file: '' },
      { file, ends: 'soon' },
      { file, clock: {} },
      { file, fil: 1 },
    ]) {
      expect(await rejection(openRecording(wrong as never))).toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
    expect(existsSync(file)).toBe(false);
    for (const recording of [null, {}, file]) {
      const make = () => createGuard({ driver: prompt(), recording: recording as never });
      expect(make).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('openRecording') }),
      );
    }
    expect(createGuard({ driver: prompt(), recording: undefined })).not.toHaveProperty('ended');
  });

  it('holds each batch as soon as it is over', async () => {
    const { driver, file, recording, asked, lines } = await scene();
    const one = asked('a');
    driver.last.succeed();
    await one.verdict;
    recording.ended(one.batch);
    await vi.waitFor(() => expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(3));
    await lines();
  });

  it('closing again does nothing, and what comes afterwards is not recorded', async () => {
    const { driver, file, recording, asked } = await scene();
    const [first, second] = await Promise.all([recording.close(), recording.close()]);
    expect(second).toBe(first);
    expect(first).toEqual({ file, batches: 0, complete: true });
    const one = asked('a');
    driver.last.succeed();
    expect(await one.verdict).toMatchObject({ outcome: 'created' });
    recording.ended(one.batch);
    await recording[Symbol.asyncDispose]();
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(2);
  });

  it('can be shared by guards', async () => {
    const { driver, recording, asked, lines } = await scene();
    const other = createGuard({ driver: prompt(), enabled: () => true, recording });
    const one = asked('a');
    driver.last.succeed();
    await one.verdict;
    await other.beforeBatch({ sandboxId: 'of-the-other', turnId: 'a' });
    const { batches } = await lines();
    expect(batches.map(({ sandbox }) => sandbox).sort()).toEqual(['of-the-other', 's']);
  });
});

describe('anonymise', () => {
  it('gives sandboxes and turns other names, the same for the same', async () => {
    const { driver, recording, asked, lines } = await scene({}, { anonymise: true });
    for (const [turn, sandbox] of [
      ['alice-1', '/home/alice'],
      ['alice-1', '/home/alice'],
      ['alice-2', '/home/alice'],
      ['alice-1', '/home/bob'],
    ] as const) {
      const calls = driver.calls.length;
      const { batch, verdict } = asked(turn, sandbox, { command: 'cat secret' });
      if (driver.calls.length > calls) driver.last.succeed();
      await verdict;
      recording.ended(batch);
    }
    const { text, head, batches } = await lines();
    expect(text).not.toMatch(/alice|bob|home|secret/);
    expect(head).toEqual({ version: 1, name: 'a recording', batches: [] });
    const [one, two, three, four] = batches;
    expect(one?.sandbox).toMatch(/^sandbox-[0-9a-f]{16}$/);
    expect(two).toMatchObject({ sandbox: one?.sandbox, turn: one?.turn });
    expect(three?.sandbox).toBe(one?.sandbox);
    expect(three?.turn).not.toBe(one?.turn);
    expect(four?.sandbox).not.toBe(one?.sandbox);
  });

  it('gives other names in each recording', async () => {
    const names = [];
    for (const _ of [1, 2]) {
      const { driver, asked, lines } = await scene({}, { anonymise: true });
      const { verdict } = asked('t', 'the same');
      driver.last.succeed();
      await verdict;
      names.push((await lines()).batches[0]?.sandbox);
    }
    expect(names[0]).not.toBe(names[1]);
  });
});

describe('a file that cannot be written', () => {
  /** The first line is in the file, and nothing is being written. */
  async function headed(file: string): Promise<void> {
    await vi.waitFor(() => expect(readFileSync(file, 'utf8')).not.toBe(''));
    await settled();
  }

  /** Makes every write fail from now on, as on a disk that is full. */
  function full() {
    const error = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
    const write = vi.spyOn(fs, 'write').mockImplementation(((...args: unknown[]) => {
      setImmediate(() => (args.at(-1) as (error: Error) => void)(error));
    }) as never);
    onTestFinished(() => write.mockRestore());
    return { error, write };
  }

  it('ends the recording with one warning, and no batch notices', async () => {
    const { driver, log, recording, asked } = await scene();
    await headed(recording.file);
    const { error, write } = full();
    for (const turn of ['a', 'b', 'c']) {
      const { batch, verdict } = asked(turn);
      driver.last.succeed();
      expect(await verdict).toMatchObject({ outcome: 'created', protected: true });
      recording.ended(batch);
      await settled();
    }
    expect(log.warnings).toEqual(['nothing more is recorded: the recording could not be written']);
    expect(log.lines.at(-1)?.fields).toMatchObject({ err: error, file: recording.file });
    expect(write).toHaveBeenCalledTimes(1);
    const real = fs.close;
    const close = vi
      .spyOn(fs, 'close')
      .mockImplementation(((fd: number, done: (error: Error) => void) => real(fd, () => done(error))) as never);
    onTestFinished(() => close.mockRestore());
    expect(await recording.close()).toMatchObject({ complete: false, batches: 0 });
    expect(log.warnings).toHaveLength(1);
  });

  it('is a process warning where there is no logger, and one that throws changes nothing', async () => {
    const warned: string[] = [];
    const hear = (warning: Error) => void warned.push(warning.message);
    process.on('warning', hear);
    onTestFinished(() => void process.off('warning', hear));
    const throws = () => {
      throw new Error('no log');
    };
    const hostile = { debug: throws, info: throws, warn: throws, error: throws };
    for (const logger of [undefined, hostile]) {
      const { driver, recording, asked } = await scene({}, { logger });
      await headed(recording.file);
      const { write } = full();
      const { batch, verdict } = asked('a');
      driver.last.succeed();
      await verdict;
      recording.ended(batch);
      expect(await recording.close()).toMatchObject({ complete: false });
      write.mockRestore();
    }
    await settled();
    expect(warned).toEqual([
      'nothing more is recorded: the recording could not be written (ENOSPC: no space left on device, write)',
    ]);
  });

  it('a write that takes only a part is gone on with', async () => {
    const real = fs.write;
    const write = vi
      .spyOn(fs, 'write')
      .mockImplementation(((fd: number, bytes: Buffer, from: number, length: number, ...rest: never[]) =>
        real(fd, bytes, from, Math.min(length, 7), ...(rest as unknown as [null, () => void]))) as never);
    onTestFinished(() => write.mockRestore());
    const { driver, asked, lines } = await scene();
    const { verdict } = asked('a');
    driver.last.succeed();
    await verdict;
    expect((await lines()).batches).toHaveLength(1);
    expect(write.mock.calls.length).toBeGreaterThan(10);
  });

  it('a disk that hangs fills no memory', async () => {
    const held: (() => void)[] = [];
    const write = vi.spyOn(fs, 'write').mockImplementation(((...args: unknown[]) => {
      held.push(() => (args.at(-1) as (error: null, n: number) => void)(null, args[3] as number));
    }) as never);
    onTestFinished(() => write.mockRestore());
    const { driver, log, recording, asked } = await scene();
    const long = 'x'.repeat(200);
    const first = asked(long, long);
    driver.last.succeed();
    await first.verdict;
    for (let at = 0; at < 25_000 && log.warnings.length === 0; at += 1) {
      const { batch, verdict } = asked(long, long);
      await verdict;
      recording.ended(batch);
    }
    expect(log.warnings).toHaveLength(1);
    expect(held).toHaveLength(1);
    held[0]?.();
    expect(await recording.close()).toMatchObject({ complete: false, batches: 0 });
  });
});
