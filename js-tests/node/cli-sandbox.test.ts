// Item 8 of the sandboxes: `turnback sandbox …` as a user types it (S1-S12, X2).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { picture, temporary, turnback, write } from './support.js';
import { atTerminal, needsTerminal } from './terminal.js';

const ID = /^ws-[0-9a-f]{32}$/;

function prepared(files: Record<string, string> = { 'a.txt': 'one\ntwo\nthree\n', 'sub/b.txt': 'two\n' }) {
  const home = temporary();
  const workspace = write(join(home, 'work'), files);
  const env = { TURNBACK_STORE: join(home, 'store') };
  const run = (...args: string[]) => turnback(['sandbox', ...args], { cwd: workspace, env });
  const json = (...args: string[]) => JSON.parse(run(...args, '--json').stdout);
  const made = (...args: string[]) => {
    const id = run('create', '--quiet', ...args).stdout.trim();
    return { id, path: run('path', id).stdout.trim() };
  };
  return { home, workspace, env, run, json, made };
}

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], { cwd, encoding: 'utf8' });

function repository() {
  const scene = prepared({ 'a.txt': 'one\n', '.gitignore': 'node_modules\n', 'node_modules/m.js': 'm\n' });
  git(scene.workspace, 'init', '-q', '-b', 'main');
  git(scene.workspace, 'add', '.');
  git(scene.workspace, 'commit', '-qm', 'first');
  return scene;
}

describe('a sandbox from its creation to its end', () => {
  it('the whole trip: the directory changes only with the commit, and back (S3, S4, S6)', () => {
    const { workspace, run, json } = prepared();
    const before = picture(workspace);
    const created = run('create');
    expect({ code: created.code, stderr: created.stderr }).toEqual({ code: 0, stderr: '' });
    const [id = '', how, path = ''] = created.stdout.split('\n').map((line) => line.trim());
    expect(id).toMatch(ID);
    expect(how).toMatch(/^a (?:copy|snapshot).* of .*work$/);
    expect(created.stdout).toContain(`turnback sandbox path ${id}`);
    expect(run('path', id).stdout).toBe(`${path}\n`);
    expect(run('changes', id)).toMatchObject({ code: 0, stdout: 'No difference.\n' });

    writeFileSync(join(path, 'a.txt'), 'one\n2\nthree\n');
    rmSync(join(path, 'sub/b.txt'));
    write(path, { 'new/c.txt': 'new\n' });
    expect(picture(workspace)).toEqual(before);
    const changes = run('changes', id);
    expect(changes.stdout.split('\n')).toEqual(
      expect.arrayContaining(['M a.txt', 'D sub/b.txt', 'A new', 'A new/c.txt']),
    );
    expect(json('changes', id)).toMatchObject({ id, counts: { added: 2, deleted: 1, modified: 1 } });

    const committed = run('commit', id);
    expect(committed).toMatchObject({ code: 0, stderr: '' });
    expect(committed.stdout).toContain(`Committed to ${workspace}: 2 added (A), 1 deleted (D), 1 modified (M)\n`);
    expect(committed.stdout).toContain(`To take this back:     turnback sandbox undo-commit ${id}\n`);
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('one\n2\nthree\n');
    expect(existsSync(join(workspace, 'sub/b.txt'))).toBe(false);
    expect(run('commit', id)).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing to commit') });

    const undone = run('undo-commit', id);
    expect(undone.code).toBe(0);
    expect(undone.stdout).toContain(`Taken back in ${workspace}`);
    expect(picture(workspace)['./a.txt']).toEqual(before['./a.txt']);
    expect(existsSync(join(workspace, 'new'))).toBe(false);
    expect(run('commit', id).code).toBe(0);
    expect(run('cleanup', id)).toMatchObject({ code: 0, stdout: `Removed ${id}.\n` });
    expect(existsSync(path)).toBe(false);
    expect(run('list').stdout).toBe('There are no sandboxes in this store. `turnback sandbox create` makes one.\n');
  });

  it('create says with --json how it was made, and for how long it is kept', () => {
    const { workspace, json } = prepared();
    const from = Date.now();
    const made = json('create', '--mechanism', 'copy', '--plan', 'p 1', '--detached-for', '2h');
    expect(made).toMatchObject({
      id: expect.stringMatching(ID),
      resource: workspace,
      strategy: 'copy_on_write',
      mechanism: 'copy',
      planId: 'p 1',
      status: 'CREATED',
      writablePaths: [made.path],
      absoluteLinks: [],
    });
    const kept = Date.parse(made.detachedUntil) - from;
    expect(kept).toBeGreaterThanOrEqual(2 * 3600_000);
    expect(json('list').sandboxes).toMatchObject([{ id: made.id, owner: 'detached', unsaved: false, planId: 'p 1' }]);
  });

  it('rollback throws the work away, and undo brings it back (S12)', () => {
    const { workspace, env, run, made } = prepared();
    const { id, path } = made();
    writeFileSync(join(path, 'a.txt'), 'changed\n');
    const back = run('rollback', id);
    expect(back.code).toBe(0);
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('one\ntwo\nthree\n');
    const [, undo = ''] = /turnback undo (\w+)/.exec(back.stdout) ?? [];
    expect(turnback(['undo', undo], { cwd: workspace, env }).code).toBe(0);
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('changed\n');
  });
});

describe('who keeps a sandbox (S9)', () => {
  it('its lease, after the one who made it has ended', () => {
    const { run, json, made } = prepared();
    const { id, path } = made();
    expect(json('list').sandboxes).toMatchObject([{ id, owner: 'detached' }]);
    expect(run('list').stdout).toMatch(/ its lease +no /);
    expect(run('cleanup', '--abandoned')).toMatchObject({ code: 0, stdout: 'No sandbox was removed.\n' });
    expect(existsSync(path)).toBe(true);
  });

  it('nobody, when its time is over: it goes, unless it holds unsaved work', () => {
    const { run, made } = prepared();
    const clean = made('--detached-for', '1ms');
    const worked = made('--detached-for', '1ms');
    writeFileSync(join(worked.path, 'a.txt'), 'work\n');
    expect(run('list').stdout).toMatch(/2 sandboxes are kept by nobody; .*turnback sandbox cleanup --abandoned/);
    const done = run('cleanup', '--abandoned');
    expect(done.code).toBe(3);
    expect(done.stdout).toContain(`1 sandbox was removed.\n  ${clean.id}\n`);
    expect(done.stdout).toContain(`  ${worked.id}  (it holds unsaved work)\n`);
    expect(existsSync(clean.path)).toBe(false);
    expect(readFileSync(join(worked.path, 'a.txt'), 'utf8')).toBe('work\n');
    expect(run('cleanup', '--abandoned', '--allow-partial').code).toBe(0);
  });

  it('list takes a directory, also one that is gone', () => {
    const { home, workspace, json, made } = prepared();
    const other = write(join(home, 'other'), { x: 'y' });
    const [first, second] = [made(), made(other)];
    expect(json('list').sandboxes).toHaveLength(2);
    expect(json('list', other).sandboxes).toMatchObject([{ id: second.id }]);
    expect(json('list', '.').sandboxes).toMatchObject([{ id: first.id }]);
    rmSync(other, { recursive: true });
    expect(json('list', other).sandboxes).toMatchObject([{ id: second.id }]);
    rmSync(workspace, { recursive: true });
    mkdirSync(workspace);
  });
});

describe('a commit that is not all of it', () => {
  function conflicting() {
    const scene = prepared();
    const { id, path } = scene.made();
    writeFileSync(join(path, 'a.txt'), 'ONE\ntwo\nthree\n');
    write(path, { 'more.txt': 'more\n' });
    writeFileSync(join(scene.workspace, 'a.txt'), 'one\ntwo\nTHREE!\n');
    const text = () => readFileSync(join(scene.workspace, 'a.txt'), 'utf8');
    return { ...scene, id, text };
  }

  it('conflicts: 4, nothing is written, and the ways on are commands (S6)', () => {
    const { workspace, run, json, id, text } = conflicting();
    const refused = run('commit', id);
    expect(refused.code).toBe(4);
    expect(refused.stdout).toContain(`Nothing was committed: 1 path was changed in ${workspace} as well.\n  a.txt\n`);
    expect(refused.stdout).toContain(`  turnback sandbox commit ${id} --text-merge `);
    expect(text()).toBe('one\ntwo\nTHREE!\n');
    expect(existsSync(join(workspace, 'more.txt'))).toBe(false);
    expect(json('commit', id)).toMatchObject({ committed: false, conflicts: [{ path: 'a.txt' }] });
  });

  it.each([
    [['--on-conflict', 'ours'], 'ONE\ntwo\nthree\n', /Changed there as well, 1 path; the sandbox's state was taken/],
    [['--on-conflict', 'theirs'], 'one\ntwo\nTHREE!\n', /Changed there as well, 1 path; the state there was kept/],
    [['--text-merge'], 'ONE\ntwo\nTHREE!\n', /^Committed to /],
  ])('%j', (options, expected, said) => {
    const { workspace, run, id, text } = conflicting();
    const done = run('commit', id, ...options);
    expect(done.stdout).toMatch(said);
    expect(done.code).toBe(0);
    expect(text()).toBe(expected);
    expect(existsSync(join(workspace, 'more.txt'))).toBe(true);
  });

  it('what is held back: 3, listed with the reason, and committed on demand (S6, S10)', () => {
    const { workspace, run, made } = prepared();
    const { id, path } = made();
    write(path, { '.envrc': 'export X=1\n', 'c.txt': 'c\n' });
    const held = run('commit', id);
    expect(held.code).toBe(3);
    expect(held.stdout).toContain('Held back, 1 path, in the sandbox only:\n  .envrc  (programs run it');
    expect(readdirSync(workspace).sort()).toEqual(['a.txt', 'c.txt', 'sub']);
    expect(run('cleanup', id)).toMatchObject({ code: 1, stderr: expect.stringContaining('UNSAVED_WORK') });
    expect(run('commit', id, '--allow-partial').code).toBe(0);
    expect(run('commit', id, '--allow-trusted').code).toBe(0);
    expect(existsSync(join(workspace, '.envrc'))).toBe(true);
    expect(run('cleanup', id).code).toBe(0);
  });

  it('an undo after a later edit: 4, and nothing is taken back', () => {
    const { workspace, run, made } = prepared();
    const { id, path } = made();
    writeFileSync(join(path, 'a.txt'), 'work\n');
    expect(run('commit', id).code).toBe(0);
    writeFileSync(join(workspace, 'a.txt'), 'edited since\n');
    const undone = run('undo-commit', id);
    expect(undone.code).toBe(4);
    expect(undone.stdout).toContain('Nothing was taken back: 1 path was changed');
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('edited since\n');
  });

  it('unsaved work is refused, or with --force stored first (S10)', () => {
    const { home, workspace, env, run, made } = prepared();
    const { id, path } = made();
    writeFileSync(join(path, 'a.txt'), 'precious\n');
    const refused = run('cleanup', id);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(refused.stderr).toMatch(/^turnback: UNSAVED_WORK: .*--force/);
    const done = run('cleanup', id, '--force');
    expect(done.code).toBe(0);
    const [, saved = ''] = /turnback export (\w+) DIR/.exec(done.stdout) ?? [];
    const out = join(home, 'out');
    expect(turnback(['export', saved, out], { cwd: workspace, env }).code).toBe(0);
    expect(readFileSync(join(out, 'a.txt'), 'utf8')).toBe('precious\n');
    expect(existsSync(path)).toBe(false);
  });
});

describe('cleaning up several', () => {
  it('all are tried, each is told of, and one that is refused makes it 1', () => {
    const { run, json, made } = prepared();
    const [clean, worked, other] = [made(), made(), made()];
    writeFileSync(join(worked.path, 'a.txt'), 'work\n');
    const done = run('cleanup', clean.id, worked.id, other.id, clean.id.slice(0, 12));
    expect(done.code).toBe(1);
    expect(done.stdout).toBe(`Removed ${clean.id}.\nRemoved ${other.id}.\n`);
    expect(done.stderr).toMatch(new RegExp(`^turnback: ${worked.id}: UNSAVED_WORK: .*\n$`));
    expect(json('list').sandboxes).toMatchObject([{ id: worked.id }]);
    const another = made();
    const told = json('cleanup', worked.id, another.id);
    expect(told).toMatchObject({
      removed: [{ id: another.id }],
      failed: [{ id: worked.id, error: { code: 'UNSAVED_WORK' } }],
    });
  });

  it('none is removed when one of the ids is none', () => {
    const { run, json, made } = prepared();
    const { id } = made();
    expect(run('cleanup', id, `ws-${'0'.repeat(32)}`).code).toBe(1);
    expect(json('list').sandboxes).toHaveLength(1);
  });
});

describe('git_worktree (S7, S8)', () => {
  it('seeds, carries changes, commits and merges', () => {
    const { workspace, run, json, made } = repository();
    writeFileSync(join(workspace, 'a.txt'), 'one\nlocal\n');
    const { id, path } = made('--strategy', 'git_worktree', '--seed', 'node_modules', '--carry-changes');
    expect(readFileSync(join(path, 'node_modules/m.js'), 'utf8')).toBe('m\n');
    expect(readFileSync(join(path, 'a.txt'), 'utf8')).toBe('one\nlocal\n');
    git(workspace, 'checkout', '-q', 'a.txt');
    write(path, { 'b.txt': 'b\n' });
    const done = run('commit', id, '--message', 'by the sandbox', '--on-conflict', 'ours');
    expect(done.stderr).toBe('');
    expect(done.stdout).toMatch(/^Committed to .*, by branch .* \([0-9a-f]{10}\): /);
    expect(git(workspace, 'log', '--format=%s', '-2')).toContain('by the sandbox');
    expect(readFileSync(join(workspace, 'b.txt'), 'utf8')).toBe('b\n');
    expect(json('list').sandboxes).toMatchObject([{ strategy: 'git_worktree', status: 'COMMITTED' }]);
  });

  it('--merge branch leaves the directory alone, and says how to merge (S8)', () => {
    const { workspace, run, made } = repository();
    const { id, path } = made('--strategy', 'git_worktree');
    write(path, { 'b.txt': 'b\n' });
    const before = picture(workspace)['./a.txt'];
    const done = run('commit', id, '--merge', 'branch');
    expect(done.stdout).toMatch(/^Committed to branch turnback\/\w+ \([0-9a-f]{10}\) of /);
    expect(run('cleanup', id).code).toBe(0);
    expect(existsSync(join(workspace, 'b.txt'))).toBe(false);
    expect(picture(workspace)['./a.txt']).toEqual(before);
    const [, where = '', branch = ''] = /To merge it: git -C (\S+) merge (\S+)\n/.exec(done.stdout) ?? [];
    git(where, 'merge', '-q', branch);
    expect(readFileSync(join(workspace, 'b.txt'), 'utf8')).toBe('b\n');
  });

  it('create says which branch, and --json how many submodules and pointers there are', () => {
    const { run, json } = repository();
    expect(run('create', '--strategy', 'git_worktree').stdout).toMatch(/a git worktree of .*\n.*\n {2}on branch /);
    expect(json('create', '--strategy', 'git_worktree')).toMatchObject({
      mechanism: 'worktree',
      branch: expect.any(String),
      lfsPointers: 0,
      submodules: 0,
    });
  });

  it('a directory without a repository is refused with the strategy that works', () => {
    const { run } = prepared();
    const refused = run('create', '--strategy', 'git_worktree');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('copy_on_write');
  });
});

describe('none (S12)', () => {
  it('isolates nothing, says so, and has no baseline', () => {
    const { workspace, run } = prepared();
    const created = run('create', '--strategy', 'none');
    expect(created.stdout).toContain('nothing is isolated');
    const id = created.stdout.split('\n')[0] ?? '';
    expect(run('path', id).stdout).toBe(`${workspace}\n`);
    for (const command of ['changes', 'rollback', 'undo-commit']) {
      expect(run(command, id)).toMatchObject({ code: 1, stderr: expect.stringContaining('NOT_UNDOABLE') });
    }
    expect(run('cleanup', id).code).toBe(0);
    expect(existsSync(join(workspace, 'a.txt'))).toBe(true);
  });
});

describe('ids', () => {
  it('the beginning of exactly one, with or without ws-', () => {
    const { json, run, made } = prepared();
    const { id } = made();
    for (const given of [id, id.slice(0, 9), id.slice(3, 7), id.slice(3)]) expect(json('path', given).id).toBe(id);
    const second = made().id;
    const none = run('create', '--strategy', 'none', '--quiet').stdout.trim();
    expect(json('path', second.slice(0, 12)).id).toBe(second);
    expect(json('path', none.slice(0, 14)).id).toMatch(/^none-/);
  });

  it.each([
    ['ws-00000000', 1, 'NOT_FOUND: no sandbox id begins with ws-00000000'],
    ['0'.repeat(32), 1, 'NOT_FOUND'],
    [`ws-${'0'.repeat(32)}`, 1, 'NOT_FOUND: there is no sandbox'],
    ['abc', 2, 'ID is no sandbox id'],
    ['', 2, 'ID is no sandbox id'],
    ['\x1b[31mred', 2, 'ID is no sandbox id'],
    ['../../etc', 2, 'ID is no sandbox id'],
  ])('%j is none', (given, code, said) => {
    const { run } = prepared();
    const refused = run('changes', given);
    expect(refused.code).toBe(code);
    expect(refused.stderr).toContain(said);
    expect(refused.stderr).not.toContain('\x1b');
  });
});

describe('texts', () => {
  const hostile = '\x1b]0;title\x07\x1b[2J\u202erm\r';

  it('changes --patch shows what changed, and nothing that a terminal would obey', () => {
    const { run, made } = prepared({ 'a.txt': 'one\ntwo\nthree\n', 'gone.txt': 'gone\n', 'b.bin': 'a\0b' });
    const { id, path } = made();
    writeFileSync(join(path, 'a.txt'), `one\n\t${hostile}\\d\nthree\n`);
    writeFileSync(join(path, 'b.bin'), 'a\0c');
    rmSync(join(path, 'gone.txt'));
    write(path, { '\x1b[31mred\n': Buffer.from('caf\xe9\n', 'latin1').toString('latin1') });
    writeFileSync(join(path, 'latin1.txt'), Buffer.from('caf\xe9', 'latin1'));
    const { stdout, code } = run('changes', id, '--patch');
    expect(code).toBe(0);
    expect(stdout).toContain(
      [
        '--- a/a.txt',
        '+++ b/a.txt',
        '@@ -1,3 +1,3 @@',
        ' one',
        '-two',
        '+\t\\x1b]0;title\\x07\\x1b[2J\\u{202e}rm\\r\\d',
        ' three',
        '',
      ].join('\n'),
    );
    expect(stdout).toContain('--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n');
    expect(stdout).toContain('--- a/b.bin\n+++ b/b.bin\n  (not a text)\n');
    expect(stdout).toContain('+++ b/latin1.txt\n@@ -0,0 +1 @@\n+caf\\xe9\n\\ No newline at end of file\n');
    expect(stdout).toContain('A \\x1b[31mred\\n');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be there
    expect(stdout).not.toMatch(/[\x00-\x08\x0b-\x1f\x7f\u202e]/);
  });

  it('what is too long is not compared, and a line that is too long is cut', () => {
    const { run, made } = prepared({ 'long.txt': 'x', 'wide.txt': 'x\n' });
    const { id, path } = made();
    writeFileSync(join(path, 'long.txt'), 'y'.repeat((1 << 20) + 1));
    writeFileSync(join(path, 'wide.txt'), `${'y'.repeat(5000)}\n`);
    const { stdout } = run('changes', id, '--patch');
    expect(stdout).toContain('+++ b/long.txt\n  (1.0 MiB: too long to be shown)\n');
    expect(stdout).toContain('y… (3,001 more bytes)\n');
    expect(stdout.length).toBeLessThan(5000);
  });

  it('a link that was put in the place of a directory or a file is not followed', () => {
    const { home, run, made } = prepared({ 'a.txt': 'one\n', 'sub/b.txt': 'two\n' });
    const secret = write(join(home, 'secret'), { 'b.txt': 'SECRET\n' });
    const { id, path } = made();
    rmSync(join(path, 'sub'), { recursive: true });
    rmSync(join(path, 'a.txt'));
    execFileSync('ln', ['-s', secret, join(path, 'sub')]);
    execFileSync('ln', ['-s', join(secret, 'b.txt'), join(path, 'a.txt')]);
    execFileSync('mkfifo', [join(path, 'pipe')]);
    const { stdout, code } = run('changes', id, '--patch');
    expect(code).toBe(0);
    expect(stdout).toContain('T a.txt\n');
    expect(stdout).toContain('-one\n');
    expect(stdout).not.toContain('SECRET');
  });

  it('on a terminal in colours and by the pager, which NO_COLOR and PAGER decide', async (context) => {
    needsTerminal(context);
    const { workspace, env, made } = prepared();
    const { id, path } = made();
    writeFileSync(join(path, 'a.txt'), 'one\n2\nthree\n');
    const shown = async (more: Record<string, string>) => {
      const terminal = atTerminal(['sandbox', 'changes', id], { cwd: workspace, env: { ...env, ...more } });
      expect(await terminal.ended).toBe(0);
      return terminal;
    };
    expect((await shown({ PAGER: 'cat' })).raw()).toContain('\x1b[32m+2\x1b[0m');
    expect((await shown({ PAGER: '' })).raw()).toContain('\x1b[31m-two\x1b[0m');
    const plain = await shown({ PAGER: '', NO_COLOR: '1' });
    expect(plain.raw()).not.toContain('\x1b[');
    expect(plain.raw()).toContain('+2\r\n');
    expect((await shown({ PAGER: '', TERM: 'dumb' })).raw()).not.toContain('\x1b[');
    expect((await shown({ PAGER: 'sed s/^/paged:/' })).shown()).toContain('paged:M a.txt\n');
    const missing = await shown({ PAGER: 'no-such-pager' });
    expect(missing.shown()).toContain('M a.txt\n');
  });
});

describe('usage', () => {
  it('sandbox alone shows its commands', () => {
    const { run } = prepared();
    expect(run()).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('sandbox undo-commit ID') });
    expect(run('--help')).toMatchObject({ code: 0, stdout: expect.stringContaining('sandbox undo-commit ID') });
    const { commands } = JSON.parse(run('--help', '--json').stdout);
    expect(commands.map(({ name }: { name: string }) => name)).toEqual(
      ['create', 'list', 'path', 'changes', 'commit', 'undo-commit', 'rollback', 'cleanup'].map((n) => `sandbox ${n}`),
    );
    expect(run('list', '--help').stdout).toMatch(/^turnback sandbox list: list sandboxes\n/);
    expect(turnback(['help', 'sandbox', 'list']).stdout).toMatch(/^turnback sandbox list: /);
    expect(turnback(['help', 'sandbox']).stdout).toContain('sandbox cleanup [ID]…');
    expect(turnback(['sandbox', '--json'])).toMatchObject({ code: 2, stdout: expect.stringContaining('INVALID') });
  });

  it.each([
    [['lst'], 'unknown command sandbox lst; did you mean sandbox list?'],
    [['create', '--strategy', 'copy'], '--strategy is none of none, copy_on_write, git_worktree'],
    [['create', '--mechanism', 'zfs'], '--mechanism is none of auto, reflink, btrfs, copy'],
    [['create', '--seed', 'x'], 'options.seed says nothing to a sandbox of strategy copy_on_write'],
    [['create', '--detached-for', '7'], '--detached-for is no length of time'],
    [['create', '--detached-for', '0s'], '--detached-for is no time'],
    [['commit', 'ws-00000000', '--on-conflict', 'mine'], '--on-conflict is none of fail, ours, theirs'],
    [['commit'], 'sandbox commit needs ID'],
    [['cleanup'], 'needs either ID or --abandoned'],
    [['cleanup', 'ws-00000000', '--abandoned'], 'needs either ID or --abandoned'],
    [['cleanup', '--abandoned', '--force'], '--force does not go with --abandoned'],
    [['changes', 'ws-00000000', 'more'], 'takes no further argument more'],
  ])('%j is refused with 2', (args, said) => {
    const refused = prepared().run(...args);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain(said);
  });

  it('a mechanism that is not to be had is an error, never another one (S5)', () => {
    const { run } = prepared();
    const refused = run('create', '--mechanism', 'btrfs');
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('UNSUPPORTED_FILESYSTEM') });
    expect(run('list', '--quiet').stdout).toBe('');
  });

  it('hints name the store that was given', () => {
    const { home, workspace } = prepared();
    const store = join(home, 'other store');
    const created = turnback(['sandbox', 'create', '--store', store], { cwd: workspace });
    expect(created.stdout).toContain(`--store '${store}'`);
  });

  it('doctor says how sandboxes would be made, and why not better', () => {
    const { workspace, env } = prepared();
    const shown = turnback(['doctor'], { cwd: workspace, env }).stdout;
    expect(shown).toMatch(/sandboxes +copy_on_write uses `(?:btrfs|reflink|copy)`: /);
    const { sandboxMechanisms } = JSON.parse(turnback(['doctor', '--json'], { cwd: workspace, env }).stdout);
    expect(sandboxMechanisms.map(({ name }: { name: string }) => name)).toEqual(['btrfs', 'reflink', 'copy']);
    expect(sandboxMechanisms[2]).toMatchObject({ ok: true });
  });
});
