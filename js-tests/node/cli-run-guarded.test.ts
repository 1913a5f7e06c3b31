// Item 7 of the guard: `run-guarded`, `pause` and `resume` on the command line (G5, G7, G8, G13, C17).
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { holdLock } from '../guard/lock.js';
import { PACKAGE, temporary, turnback, write } from './support.js';

function prepared(more: Record<string, string> = {}) {
  const home = temporary();
  const workspace = write(join(home, 'work'), { 'a.txt': 'one\n' });
  const env = { TURNBACK_STORE: join(home, 'store'), NODE_ENV: '', SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: '', ...more };
  const run = (...args: string[]) => turnback(args, { cwd: workspace, env });
  const checkpoints = () => JSON.parse(run('list', '--json').stdout).checkpoints;
  return { home, workspace, env, run, checkpoints };
}

/** Whether a process has a file of this name open. */
function isOpenIn(pid: number, name: string): boolean {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).some((descriptor) => {
    try {
      return readlinkSync(`${folder}/${descriptor}`).endsWith(name);
    } catch {
      // Closed meanwhile.
      return false;
    }
  });
}

describe('run-guarded', () => {
  it('takes a checkpoint before the command, which can be rolled back', () => {
    const { workspace, run, checkpoints } = prepared();
    const ran = run('run-guarded', '--turn', 'turn 7', '--', 'sh', '-c', 'echo told; rm a.txt');
    expect(ran.code).toBe(0);
    expect(ran.stdout).toBe('told\n');
    const [only] = checkpoints();
    expect(checkpoints()).toHaveLength(1);
    expect(only).toMatchObject({ phase: 'pre_batch', workspace, metadata: { turnId: 'turn 7' } });
    expect(ran.stderr).toBe(`turnback: to go back: turnback rollback ${only.checkpointId}\n`);
    expect(existsSync(join(workspace, 'a.txt'))).toBe(false);
    expect(run('rollback', only.checkpointId).code).toBe(0);
    expect(existsSync(join(workspace, 'a.txt'))).toBe(true);
  });

  it('two of one turn take a checkpoint each, of the state right before each (G1: at most one for each process)', () => {
    const { workspace, run, checkpoints } = prepared();
    for (const text of ['two', 'three']) {
      const { code } = run('run-guarded', '--turn', 'turn 7', '--', 'sh', '-c', `echo ${text} >a.txt`);
      expect(code).toBe(0);
    }
    const both = checkpoints();
    expect(both.map((one: { metadata: { turnId: string } }) => one.metadata.turnId)).toEqual(['turn 7', 'turn 7']);
    const before = both.map(({ checkpointId }: { checkpointId: string }) => {
      expect(run('rollback', checkpointId).code).toBe(0);
      return readFileSync(join(workspace, 'a.txt'), 'utf8');
    });
    expect(before).toEqual(['one\n', 'two\n']);
  });

  it('passes on the exit code, also of a signal, and each argument as it is', () => {
    const { run } = prepared();
    expect(run('run-guarded', '--', 'sh', '-c', 'exit 5').code).toBe(5);
    expect(run('run-guarded', '--', 'sh', '-c', 'kill -9 $$').code).toBe(137);
    const odd = ['--json', '$HOME', '*', '', 'a b', '--'];
    const ran = run('run-guarded', '--', 'sh', '-c', 'printf "<%s>" "$@"', 'sh', ...odd);
    expect(ran.stdout).toBe(odd.map((one) => `<${one}>`).join(''));
  });

  it('with --json prints one document, and what the command prints goes to stderr', () => {
    const { run } = prepared();
    const { code, stdout, stderr } = run('run-guarded', '--json', '--', 'sh', '-c', 'echo told; exit 3');
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ exitCode: 3, checkpoint: { outcome: 'created', protected: true } });
    expect(stderr).toContain('told\n');
  });

  it('a command that cannot be started: 127 and one line', () => {
    const { run } = prepared();
    const { code, stderr } = run('run-guarded', '--quiet', '--', 'no-such-program');
    expect(code).toBe(127);
    expect(stderr).toBe('turnback: cannot run no-such-program: ENOENT\n');
  });

  it.each([
    ['paused', {}, 'skipped (paused)'],
    ['switched off', { SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: 'false' }, 'skipped'],
    ['in production', { NODE_ENV: 'production' }, 'skipped'],
  ])('runs the command without a checkpoint when %s, and says so', (what, env, said) => {
    const { run, checkpoints } = prepared(env);
    if (what === 'paused') expect(run('pause').code).toBe(0);
    const { code, stderr } = run('run-guarded', '--', 'sh', '-c', 'exit 4');
    expect(code).toBe(4);
    expect(stderr).toContain(`turnback: no checkpoint: ${said}`);
    expect(checkpoints()).toEqual([]);
    if (what !== 'paused') return;
    expect(run('resume').code).toBe(0);
    expect(run('run-guarded', '--', 'true').code).toBe(0);
    expect(checkpoints()).toHaveLength(1);
  });

  it('runs the command although the checkpoint fails: here the store would lie in the directory', () => {
    const { workspace, run } = prepared();
    const { code, stderr } = run('run-guarded', '--store', join(workspace, 'store'), '--', 'sh', '-c', 'exit 6');
    expect(code).toBe(6);
    expect(stderr).toContain('no checkpoint: failed');
  });

  it.each([
    ['cannot be opened', { TURNBACK_STORE: '/proc/nope' }],
    ['is needed for nothing', { TURNBACK_STORE: '/proc/nope', SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: 'false' }],
  ])('runs the command although the store %s', (_what, env) => {
    const { code, stdout, stderr } = prepared(env).run('run-guarded', '--', 'sh', '-c', 'echo ran; exit 7');
    expect({ code, stdout }).toEqual({ code: 7, stdout: 'ran\n' });
    expect(stderr).toMatch(/^turnback: no checkpoint: (?:failed|skipped)/);
  });

  it('takes a checkpoint of a directory with a long name as well', () => {
    const { home, run } = prepared();
    const deep = write(join(home, 'x'.repeat(200), 'y'.repeat(50)), { a: '1' });
    expect(run('run-guarded', deep, '--', 'true').stderr).toMatch(/^turnback: to go back/);
  });

  it.each(['/etc/passwd/x', ''])('%j cannot be started: 127', (program) => {
    const { code, stderr } = prepared().run('run-guarded', '--quiet', '--', program);
    expect(code).toBe(127);
    expect(stderr).toContain('turnback: cannot run');
  });

  it.each([
    [['run-guarded'], 2, 'needs CMD… after --'],
    [['run-guarded', '--'], 2, 'needs CMD… after --'],
    [['run-guarded', '--turn', '', '--', 'true'], 2, 'INVALID_ARGUMENT'],
    [['run-guarded', 'missing', '--', 'true'], 1, 'NOT_A_DIRECTORY'],
  ])('%j is refused before anything runs', (args, code, said) => {
    const { run, checkpoints } = prepared();
    const ran = run(...args);
    expect(ran.code).toBe(code);
    expect(ran.stderr).toContain(said);
    expect(checkpoints()).toEqual([]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s during the checkpoint: the command never runs', async (signal, expected) => {
    const { home, workspace, env, run } = prepared();
    expect(run('checkpoint').code).toBe(0);
    const locks = join(home, 'store', 'locks');
    const [workspaceLock = ''] = readdirSync(locks).filter((name) => name.startsWith('ws-'));
    const lock = holdLock(join(locks, workspaceLock));
    const args = [join(PACKAGE, 'bin', 'turnback.js'), 'run-guarded', '--', 'sh', '-c', 'echo ran >ran'];
    const child = spawn(process.execPath, args, { cwd: workspace, env: { ...process.env, ...env } });
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const closed = new Promise((resolve) => child.once('close', (code, by) => resolve(code ?? by)));
    while (!isOpenIn(child.pid as number, workspaceLock)) await new Promise(setImmediate);
    child.kill(signal);
    const code = await closed;
    await lock.release();
    expect(code).toBe(expected);
    expect(said).toContain('the command did not run');
    expect(existsSync(join(workspace, 'ran'))).toBe(false);
  });

  it('passes a request to end on to the command', async () => {
    const { workspace, env } = prepared();
    const script = 'trap "echo ending; exit 9" TERM; echo ready; while :; do sleep 0.05; done';
    const args = [join(PACKAGE, 'bin', 'turnback.js'), 'run-guarded', '--', 'sh', '-c', script];
    const child = spawn(process.execPath, args, { cwd: workspace, env: { ...process.env, ...env } });
    let told = '';
    child.stdout.on('data', (chunk) => {
      if (told === '') child.kill('SIGTERM');
      told += chunk;
    });
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(code).toBe(9);
    expect(told).toBe('ready\nending\n');
  });
});
