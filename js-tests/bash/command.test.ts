// A real shell: exit codes, signals, environment, directory, standard input.
import { mkdirSync, readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { runBash, type Sandbox } from 'turnback';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { descriptors, marked, recordingGuard, temporary, VERDICT, write } from './support.js';

describe('the command', () => {
  it('gives both streams, the exit code and how long it took', async () => {
    const result = await runBash({ sandbox: temporary(), command: 'echo out; echo err >&2; exit 3' });
    expect(result).toEqual({
      exitCode: 3,
      signal: null,
      stdout: 'out\n',
      stderr: 'err\n',
      timedOut: false,
      truncated: false,
      endedLeftovers: false,
      notEnded: [],
      outputHeld: false,
      durationMs: expect.any(Number),
    });
    expect(Number.isInteger(result.durationMs) && result.durationMs >= 0).toBe(true);
  });

  it.each([
    ['true', 0],
    ['exit 255', 255],
    ['no-such-program-anywhere', 127],
    ['if', 2],
  ])('%s: exit code %i', async (command, exitCode) => {
    expect(await runBash({ sandbox: temporary(), command })).toMatchObject({ exitCode, signal: null });
  });

  it('a shell that a signal ended has no exit code', async () => {
    expect(await runBash({ sandbox: temporary(), command: 'kill -KILL $$' })).toMatchObject({
      exitCode: null,
      signal: 'SIGKILL',
      timedOut: false,
    });
  });

  it('is one argument: nothing in it is spliced, split or taken for an option', async () => {
    const run = (command: string) => runBash({ sandbox: temporary(), command });
    expect(await run(`printf '%s|' "a  b" 'c"d' "$#" "$(echo e)"`)).toMatchObject({ stdout: 'a  b|c"d|0|e|' });
    expect(await run('-x; echo second')).toMatchObject({ stdout: 'second\n', exitCode: 0 });
    expect(await run('--version')).toMatchObject({ exitCode: 127 });
    expect(await run('cat <<END\none\ntwo\nEND')).toMatchObject({ stdout: 'one\ntwo\n' });
  });

  it('is bash where there is bash', async () => {
    const { stdout } = await runBash({ sandbox: temporary(), command: 'a=(1 2 3); echo "$((a[2])) $BASH_VERSION"' });
    expect(stdout).toMatch(/^3 \d/);
  });

  it('a workspace cannot say what the shell is: relative entries of PATH do not count', async () => {
    const directory = write(temporary(), {});
    const made = await runBash({
      sandbox: directory,
      command: "printf '#!/bin/sh\\necho fake\\n' >bash && chmod +x bash && cp bash sh && cp bash mkfifo",
    });
    expect(made.exitCode).toBe(0);
    const before = { path: process.env.PATH, directory: process.cwd() };
    onTestFinished(() => {
      process.env.PATH = before.path;
      process.chdir(before.directory);
    });
    process.chdir(directory);
    process.env.PATH = `.::${before.path}`;
    expect(await runBash({ sandbox: directory, command: 'echo real' })).toMatchObject({ stdout: 'real\n' });
  });

  it('has no standard input and no terminal', async () => {
    const command = 'cat; readlink /proc/self/fd/0; (exec </dev/tty) 2>/dev/null || echo no terminal';
    expect(await runBash({ sandbox: temporary(), command })).toMatchObject({ stdout: '/dev/null\nno terminal\n' });
  });

  it('can open its output by name, as in a terminal: the streams are pipes, not sockets', async () => {
    const command = 'echo a >/dev/stderr && echo b | tee /dev/stderr && echo c >/dev/stdout';
    expect(await runBash({ sandbox: temporary(), command })).toMatchObject({
      exitCode: 0,
      stdout: 'b\nc\n',
      stderr: 'a\nb\n',
    });
  });

  it('leads a session and a process group of its own', async () => {
    const { stdout } = await runBash({ sandbox: temporary(), command: 'echo $$; cut -d" " -f5,6 /proc/$$/stat' });
    const [pid, group] = stdout.trim().split('\n');
    expect(group).toBe(`${pid} ${pid}`);
  });
});

describe('the environment', () => {
  it('is that of this process, with the given variables over it; undefined takes one away', async () => {
    process.env.TURNBACK_TEST_KEPT = 'kept';
    process.env.TURNBACK_TEST_GONE = 'gone';
    onTestFinished(() => {
      delete process.env.TURNBACK_TEST_KEPT;
      delete process.env.TURNBACK_TEST_GONE;
    });
    const result = await runBash({
      sandbox: temporary(),
      command: 'printenv TURNBACK_TEST_KEPT TURNBACK_TEST_GONE NEW EMPTY',
      env: { NEW: 'a "b" $c', EMPTY: '', TURNBACK_TEST_GONE: undefined },
    });
    // One of them is not there: printenv says so by its exit code.
    expect(result).toMatchObject({ exitCode: 1, stdout: 'kept\na "b" $c\n\n' });
    expect(process.env.TURNBACK_TEST_GONE).toBe('gone');
    expect(process.env.NEW).toBeUndefined();
  });
});

describe('where it runs', () => {
  it('in the directory', async () => {
    const directory = realpathSync(temporary());
    expect(await runBash({ sandbox: directory, command: 'pwd; pwd -P; echo "$PWD"' })).toMatchObject({
      stdout: `${directory}\n`.repeat(3),
    });
  });

  it('a relative path means the working directory at the call, not later (F38)', async () => {
    const home = realpathSync(temporary());
    write(home, { 'one/work/': '', 'two/work/': '' });
    const before = process.cwd();
    onTestFinished(() => process.chdir(before));
    process.chdir(join(home, 'one'));
    const { guard, asked } = recordingGuard();
    const ran = runBash({ sandbox: 'work', command: 'pwd', guard, turnId: 't' });
    process.chdir(join(home, 'two'));
    expect(await ran).toMatchObject({ stdout: `${join(home, 'one/work')}\n` });
    expect(asked).toMatchObject([{ sandboxId: join(home, 'one/work') }]);
  });

  it('the guard hears one id of a directory, however it is named', async () => {
    const home = realpathSync(temporary());
    write(home, { 'work/sub/': '' });
    symlinkSync('work', join(home, 'link'));
    const { guard, asked } = recordingGuard();
    for (const name of ['work', 'link', 'work/', 'work/sub/..', './link/.']) {
      await runBash({ sandbox: `${home}/${name}`, command: 'true', guard, turnId: 't' });
    }
    expect(new Set(asked.map(({ sandboxId }) => sandboxId))).toEqual(new Set([join(home, 'work')]));
  });

  it('a path that can be no id, too long or with control characters, is heard as a digest', async () => {
    const home = realpathSync(temporary());
    const { guard, asked } = recordingGuard();
    for (const name of ['x'.repeat(200), 'line\nbreak', 'tab\tstop']) {
      mkdirSync(join(home, name));
      for (const again of ['', '/.']) {
        await runBash({ sandbox: join(home, name) + again, command: 'true', guard, turnId: 't' });
      }
    }
    const ids = asked.map(({ sandboxId }) => sandboxId);
    for (const id of ids) expect(id).toMatch(/^directory-sha256-[0-9a-f]{64}$/);
    expect([ids[0] === ids[1], new Set(ids).size]).toEqual([true, 3]);
  });

  it('in a sandbox: entered once, its own id, its path (S2)', async () => {
    const directory = realpathSync(temporary());
    const enter = vi.fn(async () => directory);
    const { guard, asked } = recordingGuard();
    const result = await runBash({ sandbox: { id: 'sandbox-1', enter }, command: 'pwd', guard, turnId: 'turn-1' });
    expect(result).toMatchObject({ stdout: `${directory}\n`, checkpoint: VERDICT });
    expect(enter).toHaveBeenCalledTimes(1);
    expect(asked).toEqual([{ sandboxId: 'sandbox-1', turnId: 'turn-1', command: 'pwd' }]);
  });
});

describe('afterwards', () => {
  it('nothing is left: no descriptors, no temporary files, no listeners on this process', async () => {
    const own = temporary();
    const before = process.env.TMPDIR;
    onTestFinished(() => {
      if (before === undefined) delete process.env.TMPDIR;
      else process.env.TMPDIR = before;
    });
    const directory = temporary();
    process.env.TMPDIR = own;
    await runBash({ sandbox: directory, command: 'true' });
    const [open, listeners] = [descriptors(), process.listenerCount('exit')];
    for (let round = 0; round < 5; round += 1) {
      await runBash({ sandbox: directory, command: 'echo x; ls' });
      await runBash({ sandbox: '/nowhere', command: 'true' }).catch(() => {});
      const guard = { beforeBatch: () => Promise.reject(new Error('no')), release: () => {} };
      await runBash({ sandbox: directory, command: 'true', guard, turnId: 't' }).catch(() => {});
    }
    expect(descriptors()).toBe(open);
    expect(process.listenerCount('exit')).toBe(listeners);
    expect(await runBash({ sandbox: own, command: 'ls -A' })).toMatchObject({ stdout: '' });
  });

  it('many at once do not disturb each other', async () => {
    const runs = Array.from({ length: 12 }, (_, at) => marked({ command: `echo ${at}; echo ${at} >&2; exit ${at}` }));
    for (const [at, { ran }] of runs.entries()) {
      expect(await ran).toMatchObject({ exitCode: at, stdout: `${at}\n`, stderr: `${at}\n` });
    }
  });
});

describe('a sandbox that is busy', () => {
  it('the signal ends the wait for it, and nothing runs', async () => {
    const controller = new AbortController();
    const directory = temporary();
    let enter = (_path: string) => {};
    const entered = new Promise<string>((resolve) => {
      enter = resolve;
    });
    const busy = { id: 's', path: directory, enter: () => entered } as unknown as Sandbox;
    const running = runBash({ sandbox: busy, command: 'touch ran', signal: controller.signal });
    controller.abort('enough');
    await expect(running).rejects.toMatchObject({ code: 'ABORTED', cause: 'enough' });
    enter(directory);
    expect(readdirSync(directory)).toEqual([]);
  });
});
