// The whole tree ends: on a time-out, an abort, leftovers that hold the output, and the exit of this process.
import { execFileSync, spawn } from 'node:child_process';
import { getEventListeners } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import type { TurnbackError } from 'turnback';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { commandOf, hearing, lives, marked, recordingGuard, rejection, temporary, VERDICT } from './support.js';

/** Programs that will not end by themselves, in every way that makes them hard to end. Each says `ready`. */
const STUBBORN: Record<string, string> = {
  'a plain one': 'echo ready; sleep 1000',
  'one that ignores SIGTERM': 'trap "" TERM; echo ready; while :; do sleep 1000; done',
  'a child that ignores SIGTERM, of a shell that does not':
    '(trap "" TERM; echo ready; while :; do sleep 1000; done); :',
  'one that is stopped': '(echo ready; kill -STOP $BASHPID; sleep 1000); :',
  'a grandchild in a session of its own': 'setsid sh -c "echo ready; sleep 1000; :" & wait',
  'a daemon: a session of its own, its parents gone': '(setsid sh -c "echo ready; sleep 1000; :" &) ; sleep 1000',
  'a daemon that ignores SIGTERM and does not hold the output':
    '(setsid sh -c "trap \\"\\" TERM; while :; do sleep 1000; done" >/dev/null 2>&1 &); echo ready; sleep 1000',
  'process groups of their own, by job control': 'set -m; sleep 1000 & sleep 1000 & echo ready; wait',
  'one that starts another when it is told to end':
    'trap "setsid sleep 1000 & exit" TERM; echo ready; while :; do sleep 0.01; done',
  'one that starts others all the time': 'trap "" TERM; echo ready; while :; do setsid sleep 1000 & sleep 0.01; done',
};

/** Lets the tests turn the clock: nothing is over before they say so, however slow the machine is. */
function ownClock(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
}

describe('time-out', () => {
  it('ends a command by the real clock', async () => {
    const { ran, alive } = marked({ command: 'exec sleep 1000', timeoutMs: 50 });
    expect(await ran).toMatchObject({ timedOut: true, exitCode: null, signal: 'SIGTERM', endedLeftovers: false });
    expect(alive()).toEqual([]);
  });

  it.each(Object.entries(STUBBORN))('ends %s', async (_, command) => {
    ownClock();
    const { onOutput, moment } = hearing('ready');
    const { ran, alive } = marked({ command, timeoutMs: 60_000, onOutput });
    await moment;
    vi.advanceTimersByTime(60_000);
    expect(await ran).toMatchObject({ timedOut: true, endedLeftovers: false });
    expect(alive()).toEqual([]);
  });

  it('says SIGTERM first, so that a command can clean up, and keeps what was said', async () => {
    ownClock();
    const { onOutput, moment } = hearing('ready');
    const { ran } = marked({
      command: 'trap "echo cleaned; exit 7" TERM; echo before >&2; echo ready; while :; do :; done',
      timeoutMs: 60_000,
      onOutput,
    });
    await moment;
    vi.advanceTimersByTime(59_999);
    await new Promise(setImmediate);
    vi.advanceTimersByTime(1);
    expect(await ran).toMatchObject({
      timedOut: true,
      exitCode: 7,
      signal: null,
      stdout: 'ready\ncleaned\n',
      stderr: 'before\n',
    });
  });

  it('a command within it is not touched', async () => {
    expect(await marked({ command: 'echo done', timeoutMs: 100_000 }).ran).toMatchObject({
      exitCode: 0,
      timedOut: false,
    });
  });

  it('starts when the command starts: the time that the guard takes does not count (G13)', async () => {
    ownClock();
    // The clock moves while the guard works, by far more than the time-out, and stands still while the command runs.
    const { guard } = recordingGuard(async () => {
      await vi.advanceTimersByTimeAsync(60_000);
      return VERDICT;
    });
    const { ran } = marked({ command: 'echo in time', guard, turnId: 't', timeoutMs: 1000 });
    expect(await ran).toMatchObject({ timedOut: false, stdout: 'in time\n', checkpoint: VERDICT });
  });
});

describe('abort', () => {
  it.each(Object.entries(STUBBORN))('ends %s', async (_, command) => {
    const controller = new AbortController();
    const { onOutput, moment } = hearing('ready');
    const { ran, alive } = marked({ command, onOutput, signal: controller.signal });
    await moment;
    controller.abort();
    expect(await rejection(ran)).toMatchObject({ name: 'TurnbackError', code: 'ABORTED' });
    expect(alive()).toEqual([]);
  });

  it('ends what is started at the very last moment, in 10 rounds: it can be missed while all processes are looked at', async () => {
    const command = 'trap "setsid sleep 1000 >/dev/null 2>&1 & exit" TERM; echo ready; while [ -d . ]; do :; done';
    for (let round = 0; round < 10; round += 1) {
      const controller = new AbortController();
      const { onOutput, moment } = hearing('ready');
      const { ran, alive } = marked({ command, onOutput, signal: controller.signal });
      await moment;
      controller.abort();
      await rejection(ran);
      expect(alive()).toEqual([]);
    }
  });

  it('ends what has no environment for a moment, as everything has while it becomes another program', async () => {
    const controller = new AbortController();
    const { onOutput, moment } = hearing('ready');
    // An orphan in a session of its own that gets its environment back after it was told to end.
    const orphan = `sh -c 'echo $$ >pid; sleep 0.05; exec env "$@" sleep 1000' sh $(env | grep ^TURNBACK_)`;
    const sandbox = temporary();
    const { ran } = marked({
      sandbox,
      command: `trap "(setsid --fork env -i ${orphan.replaceAll(/["$]/g, '\\$&')} >/dev/null 2>&1 &); exit" TERM; echo ready; while :; do :; done`,
      onOutput,
      signal: controller.signal,
    });
    await moment;
    // The clock stands still until it has its environment back: that comes within the moment, however slow the machine is.
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    controller.abort();
    const pid = () => Number(readFileSync(join(sandbox, 'pid'), 'utf8'));
    const started = () => existsSync(join(sandbox, 'pid')) && commandOf(pid()) === 'sleep\x001000\0';
    // By hand: `expect.poll` would turn the clock.
    while (!started()) await pause(5);
    vi.useRealTimers();
    await rejection(ran);
    expect(lives(pid())).toBe(false);
  });

  it('ends one that left the session without its environment: its parent tells', async () => {
    const controller = new AbortController();
    const { onOutput, moment } = hearing('\n');
    const { ran } = marked({
      command: `env -i setsid sh -c 'echo $$; sleep 1000; :' & wait`,
      onOutput,
      signal: controller.signal,
    });
    const pid = Number(await moment);
    expect(lives(pid)).toBe(true);
    controller.abort();
    await rejection(ran);
    expect(lives(pid)).toBe(false);
  });

  it('rejects with the reason as the cause and with what the command had come to', async () => {
    const controller = new AbortController();
    const { onOutput, moment } = hearing('ready', 'stderr');
    const { guard, released } = recordingGuard();
    const { ran } = marked({
      command: 'echo so far; echo ready >&2; exec sleep 1000',
      guard,
      turnId: 't',
      onOutput,
      signal: controller.signal,
    });
    await moment;
    const reason = new Error('the user left');
    controller.abort(reason);
    const error = (await rejection(ran)) as TurnbackError;
    expect(error).toMatchObject({ code: 'ABORTED', retryable: false });
    expect(error.cause).toBe(reason);
    expect(error.details.result).toEqual({
      exitCode: null,
      signal: 'SIGTERM',
      stdout: 'so far\n',
      stderr: 'ready\n',
      timedOut: false,
      truncated: false,
      endedLeftovers: false,
      notEnded: [],
      outputHeld: false,
      durationMs: expect.any(Number),
      checkpoint: VERDICT,
    });
    // It ran: its checkpoint stands (F29).
    expect(released).toEqual([]);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('after the shell, while something holds the output', async () => {
    const controller = new AbortController();
    const { onOutput, moment } = hearing('ready');
    const { ran, alive } = marked({
      command: '(while [ -d /proc/$$ ]; do :; done; echo ready; sleep 1000) & :',
      onOutput,
      signal: controller.signal,
    });
    await moment;
    controller.abort();
    expect(await rejection(ran)).toMatchObject({ code: 'ABORTED', details: { result: { exitCode: 0 } } });
    expect(alive()).toEqual([]);
  });

  it('one signal for many commands has one listener, and ends them all', async () => {
    const controller = new AbortController();
    const all = Array.from({ length: 6 }, () => {
      const { onOutput, moment } = hearing('ready');
      return { ...marked({ command: 'echo ready; sleep 1000', onOutput, signal: controller.signal }), moment };
    });
    await Promise.all(all.map(({ moment }) => moment));
    expect(getEventListeners(controller.signal, 'abort')).toHaveLength(1);
    const ends = all.map(({ ran }) => rejection(ran));
    controller.abort();
    for (const error of await Promise.all(ends)) expect(error).toMatchObject({ code: 'ABORTED' });
    for (const { alive } of all) expect(alive()).toEqual([]);
  });

  it('a signal that fires afterwards does no harm', async () => {
    const controller = new AbortController();
    const { ran } = marked({ command: 'echo x', signal: controller.signal });
    expect(await ran).toMatchObject({ stdout: 'x\n' });
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    controller.abort();
  });
});

describe('what a command leaves behind', () => {
  it.each([
    ['a child', 'sleep 1000 & echo x'],
    ['one that ignores SIGTERM', '(trap "" TERM; while :; do sleep 1000; done) & echo x'],
    ['one in a session of its own', 'setsid sleep 1000 & echo x'],
    ['one that holds only standard error', 'sleep 1000 >/dev/null & echo x'],
    ['one that writes without end', '(while :; do echo y >&2; sleep 0.01; done) & echo x'],
  ])('%s that holds the output is ended, and the command keeps its exit code', async (_, command) => {
    const { ran, alive } = marked({ command: `${command}; exit 5` });
    expect(await ran).toMatchObject({ exitCode: 5, stdout: 'x\n', endedLeftovers: true, timedOut: false });
    expect(alive()).toEqual([]);
  });

  it('one without its environment is found by its session', async () => {
    const { ran } = marked({ command: 'env -i sleep 1000 & echo $!' });
    const { stdout, endedLeftovers } = await ran;
    expect(endedLeftovers).toBe(true);
    expect(lives(Number(stdout))).toBe(false);
  });

  it('one that shed its session, its parents and its environment is found by the output that it holds', async () => {
    const script = `echo $$; trap "" TERM; while :; do sleep 1000; done`;
    const { ran } = marked({ command: `(setsid --fork env -i sh -c '${script}' &); :` });
    const result = await ran;
    expect(result).toMatchObject({ exitCode: 0, endedLeftovers: true, notEnded: [], outputHeld: false });
    expect(lives(Number(result.stdout))).toBe(false);
  });

  it('only its own: another command at the same time goes on', async () => {
    const controller = new AbortController();
    const { onOutput, moment } = hearing('ready');
    const { ran, alive } = marked({ command: 'echo ready; exec sleep 1000', onOutput, signal: controller.signal });
    await moment;
    expect(await marked({ command: 'sleep 1000 & echo x' }).ran).toMatchObject({ endedLeftovers: true });
    expect(alive()).toHaveLength(1);
    controller.abort();
    await rejection(ran);
  });

  it('what cannot be ended is told: an older process that was handed the output is not the command’s', async () => {
    const home = temporary();
    execFileSync('mkfifo', [join(home, 'to'), join(home, 'done')]);
    // Older than the command, and opens its output by name.
    const older = spawn('sh', ['-c', 'read path <to; exec >"$path"; echo held; echo ok >done; exec sleep 1000'], {
      cwd: home,
      stdio: 'ignore',
    });
    onTestFinished(() => void older.kill('SIGKILL'));
    const { ran } = marked({ sandbox: home, command: 'env echo "/proc/$$/fd/1" >to; read ok <done' });
    expect(await ran).toMatchObject({
      exitCode: 0,
      stdout: 'held\n',
      endedLeftovers: false,
      notEnded: [older.pid],
      outputHeld: true,
    });
    expect(lives(older.pid as number)).toBe(true);
  });

  it('the time-out counts while only the output is waited for', async () => {
    ownClock();
    const { onOutput, moment } = hearing('ready');
    const { ran, alive } = marked({
      command: '(while [ -d /proc/$$ ]; do :; done; echo ready; sleep 1000) & :',
      onOutput,
      timeoutMs: 900,
    });
    await moment;
    // The shell is gone: its end is told to this process within a few turns of the event loop.
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    // No further: a second for the output would only be over later, and the clock stands.
    vi.advanceTimersByTime(900);
    expect(await ran).toMatchObject({ timedOut: true, exitCode: 0, endedLeftovers: false, notEnded: [] });
    expect(alive()).toEqual([]);
  });

  it('one that let go of the output was meant to go on, and does', async () => {
    const { ran, alive } = marked({ command: 'sleep 1000 >/dev/null 2>&1 & echo $!' });
    const { stdout, ...rest } = await ran;
    const pid = Number(stdout);
    onTestFinished(() => void process.kill(pid, 'SIGKILL'));
    expect(rest).toMatchObject({ exitCode: 0, endedLeftovers: false });
    expect(lives(pid)).toBe(true);
    expect(alive()).toHaveLength(1);
  });

  it('one that is slow to finish its output is heard to the end', async () => {
    ownClock();
    const command = 'exec > >(while read -r line; do echo "late $line"; done; sleep 0.05; echo end); echo x';
    expect(await marked({ command }).ran).toMatchObject({ stdout: 'late x\nend\n', endedLeftovers: false });
  });
});

it('a time-out while no file can be opened ends the group all the same, and says if it cannot see the rest', async () => {
  const script = `
    import { runBash } from 'turnback';
    import { openSync, closeSync } from 'node:fs';
    const files = [];
    let full = false;
    const fill = () => { try { for (;;) files.push(openSync('/dev/null')); } catch { full = true; } };
    let pid;
    const abort = new AbortController();
    const ran = runBash({
      sandbox: ${JSON.stringify(temporary())},
      command: 'echo $$; exec sleep 1000',
      signal: abort.signal,
      onOutput: ({ data }) => { pid = Number(data.toString()); fill(); abort.abort(); },
    });
    const error = await ran.catch((error) => error);
    for (const file of files) closeSync(file);
    let lives = true;
    try { process.kill(pid, 0); } catch { lives = false; }
    process.stdout.write(JSON.stringify({ full, lives, name: error.name, code: error.code }));
  `;
  const host = spawn('sh', ['-c', 'ulimit -n 100; exec "$0" --input-type=module -e "$1"', process.execPath, script], {
    cwd: import.meta.dirname,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  host.stdout.on('data', (chunk) => {
    said += chunk;
  });
  await new Promise((resolve) => host.once('close', resolve));
  const told = JSON.parse(said);
  expect(told).toMatchObject({ full: true, lives: false, name: 'TurnbackError' });
  expect(['ABORTED', 'IO']).toContain(told.code);
});

describe('this process ends', () => {
  it('and takes its commands with it', async () => {
    const script = `
      import { runBash } from 'turnback';
      const { pid } = process;
      runBash({
        sandbox: ${JSON.stringify(temporary())},
        command: 'trap "" TERM HUP; (setsid sh -c "echo \\\\$\\\\$; sleep 1000; :" &); sleep 1000',
        onOutput: ({ data }) => process.stdout.write(data, () => process.exit(0)),
      });
    `;
    const host = spawn(process.execPath, ['--input-type=module', '-e', script], {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = new Promise((resolve) => host.once('exit', resolve));
    const line = (await createInterface({ input: host.stdout })[Symbol.asyncIterator]().next()).value;
    expect(line).toMatch(/^\d+$/);
    expect(await ended).toBe(0);
    await vi.waitFor(() => expect(lives(Number(line))).toBe(false), { timeout: 60_000 });
  });
});
