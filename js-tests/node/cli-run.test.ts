// Item 8 of the sandboxes: `turnback run`, without somebody at a terminal (S4, S6, S9, S10, X2).
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { holdLock } from '../guard/lock.js';
import { PACKAGE, picture, temporary, turnback, write } from './support.js';

const BIN = join(PACKAGE, 'bin', 'turnback.js');

function prepared(files: Record<string, string> = { 'a.txt': 'one\ntwo\nthree\n' }) {
  const home = temporary();
  const workspace = write(join(home, 'work'), files);
  const env = { TURNBACK_STORE: join(home, 'store') };
  const any = (...args: string[]) => turnback(args, { cwd: workspace, env });
  const run = (...args: string[]) => any('run', ...args);
  const sandboxes = () => JSON.parse(any('sandbox', 'list', '--json').stdout).sandboxes;
  const read = (name: string) => readFileSync(join(workspace, name), 'utf8');
  /** A command line that runs beside the test. */
  const begun = (...args: string[]) =>
    spawn(process.execPath, [BIN, 'run', ...args], { cwd: workspace, env: { ...process.env, ...env } });
  return { home, workspace, env, any, run, sandboxes, read, begun };
}

type Child = ReturnType<ReturnType<typeof prepared>['begun']>;
const over = (child: Child) =>
  new Promise<number | string | null>((settle) => child.once('close', (code, by) => settle(code ?? by)));
/** What it has printed until there was this in it. */
const says = (child: Child, text: string) =>
  new Promise<string>((settle) => {
    let all = '';
    child.stdout.on('data', (chunk) => {
      all += chunk;
      if (all.includes(text)) settle(all);
    });
  });

const WORK = ['sh', '-c', 'echo told; echo 2 >a.txt; echo b >b.txt'];

describe('--yes', () => {
  it('commits what the command did; what the command prints stays its own (S4, S6)', () => {
    const { workspace, any, run, sandboxes, read } = prepared();
    const before = picture(workspace);
    const ran = run('--yes', '--', ...WORK);
    expect(ran).toMatchObject({ code: 0, stdout: 'told\n' });
    expect(ran.stderr).toContain('M a.txt\nA b.txt\n1 added (A), 1 modified (M)\n');
    expect(ran.stderr).toContain(`Committed to ${workspace}: 1 added (A), 1 modified (M)\n`);
    expect([read('a.txt'), read('b.txt')]).toEqual(['2\n', 'b\n']);
    expect(sandboxes()).toEqual([]);
    const [, back = ''] = /To take this back: turnback rollback (\w+)/.exec(ran.stderr) ?? [];
    expect(any('rollback', back).code).toBe(0);
    expect(picture(workspace)).toEqual(before);
  });

  it('does not commit the work of a command that failed: it is kept, and the exit code is the command’s', () => {
    const { any, run, sandboxes, read } = prepared();
    const ran = run('--yes', '--', 'sh', '-c', 'echo 2 >a.txt; exit 5');
    expect(ran.code).toBe(5);
    expect(ran.stderr).toContain('the command failed with 5: the work is not committed');
    expect(read('a.txt')).toBe('one\ntwo\nthree\n');
    const [{ id }] = sandboxes();
    expect(ran.stderr).toContain(`turnback sandbox commit ${id}`);
    expect(any('sandbox', 'commit', id).code).toBe(0);
    expect(read('a.txt')).toBe('2\n');
  });

  it('conflicts: 4, nothing is written, the sandbox is kept and the ways on are shown', () => {
    const { workspace, run, sandboxes, read } = prepared();
    const ran = run('--yes', '--', 'sh', '-c', 'echo ours >a.txt; echo theirs >"$0"', join(workspace, 'a.txt'));
    expect(ran.code).toBe(4);
    expect(read('a.txt')).toBe('theirs\n');
    const [{ id, unsaved }] = sandboxes();
    expect(unsaved).toBe(true);
    expect(ran.stderr).toContain(`turnback sandbox commit ${id} --on-conflict ours`);
    expect(ran.stderr).not.toContain('To commit it:');
  });

  it('what is held back: 3, or 0 with --allow-partial; the rest is committed, and it is kept', () => {
    const { workspace, run, sandboxes } = prepared();
    const command = ['--', 'sh', '-c', 'echo x >c.txt; echo x >.envrc'];
    const ran = run('--yes', ...command);
    expect(ran.code).toBe(3);
    expect(ran.stderr).toContain('What was not committed is kept in sandbox');
    expect(readdirSync(workspace).sort()).toEqual(['a.txt', 'c.txt']);
    expect(sandboxes()).toHaveLength(1);
    expect(run('--yes', '--allow-partial', ...command).code).toBe(0);
    expect(run('--yes', '--allow-trusted', ...command).code).toBe(0);
    expect(readdirSync(workspace).sort()).toEqual(['.envrc', 'a.txt', 'c.txt']);
    expect(sandboxes()).toHaveLength(2);
  });

  it('takes the options of a commit', () => {
    const { workspace, run, read } = prepared();
    const both = ['--', 'sh', '-c', 'sed -i s/one/ONE/ a.txt; sed -i s/three/THREE/ "$0"', join(workspace, 'a.txt')];
    expect(run('--yes', '--text-merge', ...both).code).toBe(0);
    expect(read('a.txt')).toBe('ONE\ntwo\nTHREE\n');
  });

  it('git_worktree: the command works on a branch, and the commit is merged (S7)', () => {
    const { workspace, run, sandboxes } = prepared();
    const git = (...args: string[]) => execFileSync('git', args, { cwd: workspace, encoding: 'utf8' });
    git('init', '-q', '-b', 'main');
    git('add', '.');
    git('-c', 'user.name=T', '-c', 'user.email=t@example.org', 'commit', '-qm', 'first');
    const ran = run('--yes', '--strategy', 'git_worktree', '--message', 'by run', '--', 'sh', '-c', 'echo b >b.txt');
    expect(ran.code).toBe(0);
    expect(git('log', '--format=%s')).toContain('by run');
    expect(git('status', '--porcelain')).toBe('');
    expect(sandboxes()).toEqual([]);
    expect(git('worktree', 'list').trim().split('\n')).toHaveLength(1);
  });
});

describe('without --yes and with nobody to ask', () => {
  it('the work is kept: 3, and what is shown to go on with works (S9)', () => {
    const { workspace, any, run, sandboxes, read } = prepared();
    const before = picture(workspace);
    const ran = run('--', ...WORK);
    expect(ran).toMatchObject({ code: 3, stdout: 'told\n' });
    expect(ran.stderr).toContain('nobody can be asked here; --yes commits and --discard discards without asking');
    expect(picture(workspace)).toEqual(before);
    const [{ id, owner, unsaved, status }] = sandboxes();
    expect({ owner, unsaved, status }).toEqual({ owner: 'detached', unsaved: true, status: 'ACTIVE' });
    const shown = [...ran.stderr.matchAll(/turnback (sandbox .*)/g)].map(([, line]) => line);
    expect(shown).toEqual([`sandbox changes ${id}`, `sandbox commit ${id}`, `sandbox cleanup ${id} --force`]);
    for (const line of shown) expect(any(...(line ?? '').split(' ')).code).toBe(0);
    expect(read('b.txt')).toBe('b\n');
  });

  it('--keep is the wish, so the exit code is the command’s', () => {
    const { run, sandboxes } = prepared();
    expect(run('--keep', '--', ...WORK).code).toBe(0);
    expect(run('--keep', '--', 'sh', '-c', 'echo x >x; exit 7').code).toBe(7);
    expect(run('--allow-partial', '--', ...WORK).code).toBe(0);
    expect(sandboxes()).toHaveLength(3);
  });

  it('--quiet says only which sandbox', () => {
    const { run, sandboxes } = prepared();
    const ran = run('--quiet', '--keep', '--', ...WORK);
    expect(ran).toMatchObject({ code: 0, stdout: 'told\n', stderr: `${sandboxes()[0].id}\n` });
  });
});

describe('--discard', () => {
  it('leaves the directory as it was, and the work can be had back (S10)', () => {
    const { home, workspace, any, run, sandboxes } = prepared();
    const before = picture(workspace);
    const ran = run('--discard', '--', ...WORK);
    expect(ran.code).toBe(0);
    expect(picture(workspace)).toEqual(before);
    expect(sandboxes()).toEqual([]);
    const [, saved = ''] = /turnback export (\w+) DIR/.exec(ran.stderr) ?? [];
    const out = join(home, 'out');
    expect(any('export', saved, out).code).toBe(0);
    expect(readFileSync(join(out, 'b.txt'), 'utf8')).toBe('b\n');
  });
});

describe('the command', () => {
  it('nothing changed: the sandbox is gone, and the exit code is the command’s', () => {
    const { run, sandboxes } = prepared();
    expect(run('--', 'sh', '-c', 'exit 9')).toMatchObject({
      code: 9,
      stderr: 'turnback: nothing changed; the sandbox is gone\n',
    });
    expect(run('--', 'sh', '-c', 'kill -9 $$').code).toBe(137);
    expect(sandboxes()).toEqual([]);
  });

  it('cannot be started: 127, and nothing is left', () => {
    const { run, sandboxes } = prepared();
    const ran = run('--quiet', '--', 'no-such-program');
    expect(ran).toMatchObject({ code: 127, stderr: 'turnback: cannot run no-such-program: ENOENT\n' });
    expect(sandboxes()).toEqual([]);
  });

  it('works in the sandbox, knows it, and gets each argument as it is', () => {
    const { workspace, run } = prepared();
    const script = 'echo "$TURNBACK_SANDBOX"; [ "$PWD" = "$(pwd -P)" ] && pwd; printf "<%s>" "$@"';
    const odd = ['--json', '$HOME', '*', '', 'a b', '--'];
    const [id = '', path = '', rest] = run('--', 'sh', '-c', script, 'sh', ...odd).stdout.split('\n');
    expect(id).toMatch(/^ws-/);
    expect(path).not.toBe(workspace);
    expect(rest).toBe(odd.map((one) => `<${one}>`).join(''));
  });

  it('links that lead back into the directory are told of: what is written through them is not isolated (F47)', () => {
    const { workspace, any, run } = prepared();
    symlinkSync(join(workspace, 'a.txt'), join(workspace, 'link'));
    const said = 'not isolated: 1 absolute link leads back into the directory';
    const ran = run('--mechanism', 'copy', '--', 'sh', '-c', 'echo through >link');
    expect(ran.stderr).toContain(`turnback: ${said}`);
    expect(any('sandbox', 'create', '--mechanism', 'copy').stdout).toContain(`  ${said}`);
    const { absoluteLinks } = JSON.parse(any('sandbox', 'create', '--mechanism', 'copy', '--json').stdout);
    expect(absoluteLinks).toEqual(['link']);
  });

  it('a git in it works on the sandbox, whatever repository the environment names', () => {
    const { home, workspace, env } = prepared();
    execFileSync('git', ['init', '-q'], { cwd: workspace });
    const args = ['run', '--', 'sh', '-c', 'git rev-parse --show-toplevel; pwd'];
    const other = join(home, 'other.git');
    const ran = turnback(args, { cwd: workspace, env: { ...env, GIT_DIR: other, GIT_WORK_TREE: home } });
    const [top, path] = ran.stdout.split('\n');
    expect(top).toBe(path);
    expect(ran.stderr).toContain(`GIT_DIR is not passed on: it names a repository outside of the sandbox (${other})`);
  });

  it('with --json: one document, and what the command prints goes to stderr', () => {
    const { workspace, run } = prepared();
    const ran = run('--yes', '--json', '--', ...WORK);
    expect(JSON.parse(ran.stdout)).toMatchObject({
      sandbox: { resource: workspace, strategy: 'copy_on_write', kept: false },
      exitCode: 0,
      outcome: 'committed',
      counts: { added: 1, modified: 1 },
      commit: { committed: true, heldBack: [], preApplyCheckpointId: expect.any(String) },
    });
    expect(ran.stderr).toBe('told\n');
    const kept = JSON.parse(run('--json', '--', 'sh', '-c', 'echo x >x; exit 2').stdout);
    expect(kept).toMatchObject({ exitCode: 2, outcome: 'kept', sandbox: { kept: true, id: expect.any(String) } });
    const discarded = JSON.parse(run('--json', '--discard', '--', 'sh', '-c', 'echo x >x').stdout);
    expect(discarded).toMatchObject({ outcome: 'discarded', savedCheckpointId: expect.any(String) });
    expect(JSON.parse(run('--json', '--', 'true').stdout)).toMatchObject({ outcome: 'unchanged', changes: [] });
  });
});

describe('nothing is lost', () => {
  it('kill -9 during the command: the sandbox is listed, kept by its lease, and can be committed (S9)', async () => {
    const { any, sandboxes, read, begun } = prepared();
    const child = begun('--yes', '--', 'sh', '-c', 'echo work >a.txt; echo $$; exec sleep 600');
    const command = await says(child, '\n');
    child.kill('SIGKILL');
    await new Promise((settle) => child.once('exit', settle));
    process.kill(Number(command), 'SIGKILL');
    const [{ id, owner, unsaved }] = sandboxes();
    expect({ owner, unsaved }).toEqual({ owner: 'detached', unsaved: true });
    expect(any('sandbox', 'cleanup', '--abandoned').stdout).toBe('No sandbox was removed.\n');
    expect(any('sandbox', 'commit', id).code).toBe(0);
    expect(read('a.txt')).toBe('work\n');
  });

  it('kill -9 after the lease: it still holds unsaved work, so nobody removes it', async () => {
    const { any, sandboxes, begun } = prepared();
    const child = begun('--detached-for', '1ms', '--', 'sh', '-c', 'echo work >a.txt; echo $$; exec sleep 600');
    const command = await says(child, '\n');
    const [{ path, owner }] = sandboxes();
    expect(owner).toBe('alive');
    expect(any('sandbox', 'cleanup', '--abandoned').stdout).toBe('No sandbox was removed.\n');
    child.kill('SIGKILL');
    await new Promise((settle) => child.once('exit', settle));
    process.kill(Number(command), 'SIGKILL');
    expect(any('sandbox', 'cleanup', '--abandoned').stdout).toContain('it holds unsaved work');
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('work\n');
  });

  it.each([
    ['--yes', 0, []],
    ['--keep', 0, [true]],
    ['--discard', 0, []],
  ])('%s with nobody who reads the output: it is done all the same', async (wish, expected, left) => {
    const { workspace, env, sandboxes, read } = prepared();
    // Both ends are closed before anything is written.
    const child = spawn(process.execPath, [BIN, 'run', wish, '--', 'sh', '-c', 'echo 2 >a.txt'], {
      cwd: workspace,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.destroy();
    child.stderr.destroy();
    expect(await over(child as unknown as Child)).toBe(expected);
    expect(sandboxes().map(({ unsaved }: { unsaved: boolean }) => unsaved)).toEqual(left);
    expect(read('a.txt')).toBe(wish === '--yes' ? '2\n' : 'one\ntwo\nthree\n');
  });

  it('output to a full disk: the sandbox is there', () => {
    const { workspace, env, sandboxes } = prepared();
    const line = `exec "$0" "$1" run --json -- sh -c 'echo 2 >a.txt' >/dev/full`;
    const options = { cwd: workspace, env: { ...process.env, ...env }, encoding: 'utf8' as const };
    const done = spawnSync('sh', ['-c', line, process.execPath, BIN], options);
    expect(done.status).toBe(1);
    expect(done.stderr).toContain('the output cannot be written: ENOSPC');
    expect(sandboxes()).toMatchObject([{ unsaved: true }]);
  });

  it('a request to end is passed on; the work is kept, also with --yes', async () => {
    const { sandboxes, begun } = prepared();
    const script = 'trap "echo 2 >a.txt; exit 0" TERM; echo ready; while :; do sleep 0.05; done';
    const child = begun('--yes', '--', 'sh', '-c', script);
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    void says(child, 'ready').then(() => child.kill('SIGTERM'));
    expect(await over(child)).toBe(0);
    expect(said).toContain('somebody asked to end: the work is not committed');
    expect(sandboxes()).toMatchObject([{ unsaved: true }]);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s while the sandbox is made: the command never runs, and nothing is left', async (signal, expected) => {
    const { home, workspace, any, sandboxes, begun } = prepared();
    expect(any('checkpoint').code).toBe(0);
    const locks = join(home, 'store', 'locks');
    const [workspaceLock = ''] = readdirSync(locks).filter((name) => name.startsWith('ws-'));
    const lock = holdLock(join(locks, workspaceLock));
    const child = begun('--', 'sh', '-c', 'echo ran >"$0"', join(workspace, 'ran'));
    let said = '';
    child.stderr.on('data', (chunk) => {
      said += chunk;
    });
    const closed = over(child);
    while (!isOpenIn(child.pid as number, workspaceLock)) await new Promise(setImmediate);
    child.kill(signal);
    const code = await closed;
    await lock.release();
    expect(code).toBe(expected);
    expect(said).toBe('turnback: interrupted: the command did not run\n');
    expect(existsSync(join(workspace, 'ran'))).toBe(false);
    expect(sandboxes()).toEqual([]);
  });
});

it('SIGTERM during the commit: nothing is written, the work is kept, and the exit code says so', async () => {
  const { home, workspace, any, sandboxes, read, begun } = prepared();
  expect(any('checkpoint').code).toBe(0);
  const locks = join(home, 'store', 'locks');
  const [workspaceLock = ''] = readdirSync(locks).filter((name) => name.startsWith('ws-'));
  const go = join(home, 'go');
  const script = 'echo 2 >a.txt; echo ready; while [ ! -e "$0" ]; do sleep 0.05; done';
  const child = begun('--yes', '--', 'sh', '-c', script, go);
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const closed = over(child);
  await says(child, 'ready');
  const lock = holdLock(join(locks, workspaceLock));
  write(home, { go: '' });
  while (!isOpenIn(child.pid as number, workspaceLock)) await new Promise(setImmediate);
  child.kill('SIGTERM');
  const code = await closed;
  await lock.release();
  expect(code).toBe(143);
  expect(said).toContain('turnback: ABORTED: the commit was cancelled; nothing was written\n');
  expect(said).toContain('The work is kept in sandbox');
  expect(read('a.txt')).toBe('one\ntwo\nthree\n');
  const [{ id, unsaved }] = sandboxes();
  expect(unsaved).toBe(true);
  expect(any('sandbox', 'commit', id).code).toBe(0);
  expect([read('a.txt'), existsSync(workspace)]).toEqual(['2\n', true]);
});

describe('what is refused before anything runs', () => {
  it.each([
    [['--'], 2, 'run needs CMD… after --'],
    [['--yes', '--discard', '--', 'true'], 2, '--yes and --discard contradict each other'],
    [['--keep', '--discard', '--', 'true'], 2, '--discard and --keep contradict each other'],
    [
      ['--strategy', 'none', '--', 'true'],
      2,
      'run with strategy none would isolate nothing; use `turnback run-guarded`',
    ],
    [['--strategy', 'zfs', '--', 'true'], 2, '--strategy is none of none, copy_on_write, git_worktree'],
    [['--on-conflict', 'x', '--', 'true'], 2, '--on-conflict is none of'],
    [['missing', '--', 'true'], 1, 'NOT_FOUND'],
    [['a.txt', '--', 'true'], 1, 'NOT_A_DIRECTORY'],
    [['--mechanism', 'btrfs', '--', 'true'], 1, 'UNSUPPORTED_FILESYSTEM'],
  ])('%j', (args, code, said) => {
    const { run, sandboxes } = prepared();
    const ran = run(...args);
    expect(ran.code).toBe(code);
    expect(ran.stderr).toContain(said);
    expect(sandboxes()).toEqual([]);
  });
});

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
