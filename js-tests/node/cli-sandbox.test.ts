// Item 8 of the sandboxes: `turnback sandbox …` as a user types it (S1-S12, X2).
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepared } from './sandbox-scene.js';
import { picture, turnback, write } from './support.js';

const ID = /^ws-[0-9a-f]{32}$/;

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
    expect(run('list').stdout).toMatch(/ its lease until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d +no /);
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

  it('a lease is prolonged, from the call on, and never ends sooner for it', () => {
    const { run, json, made } = prepared();
    const { id, path } = made('--detached-for', '1ms');
    expect(json('list').sandboxes).toMatchObject([{ id, owner: 'orphan' }]);
    const before = Date.now();
    const done = run('lease', id.slice(3, 15), '--detached-for', '1h');
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toMatch(
      new RegExp(`^${id} is kept until \\d{4}-.*, and for as long as it holds unsaved work\\.\n$`),
    );
    const [kept] = json('list').sandboxes;
    expect(kept).toMatchObject({ id, owner: 'detached' });
    expect(Date.parse(kept.detachedUntil)).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(run('lease', id, '--detached-for', '1ms', '--quiet').stdout).toBe(`${kept.detachedUntil}\n`);
    const week = json('lease', id);
    expect(week.id).toBe(id);
    expect(Date.parse(week.detachedUntil)).toBeGreaterThanOrEqual(before + 7 * 24 * 3_600_000);
    expect(run('cleanup', '--abandoned')).toMatchObject({ code: 0, stdout: 'No sandbox was removed.\n' });
    expect(existsSync(path)).toBe(true);
    expect(run('lease', id, '--detached-for', '0s')).toMatchObject({ code: 2, stdout: '' });
    expect(run('cleanup', id).code).toBe(0);
    expect(run('lease', id)).toMatchObject({ code: 1, stderr: expect.stringContaining('NOT_FOUND') });
  });

  it('one whose record cannot be read is named, and nothing of it is removed', () => {
    const { env, workspace, run, json, made } = prepared();
    const [{ id, path }, other] = [made(), made()];
    writeFileSync(join(env.TURNBACK_STORE, 'sandboxes', id, 'record'), 'garbage');
    for (const arguments_ of [[], [workspace]]) {
      const listed = json('list', ...arguments_);
      expect(listed.sandboxes).toMatchObject([{ id: other.id }]);
      expect(listed.damaged).toEqual([{ id, owner: 'orphan', reason: expect.stringContaining('checksum') }]);
      expect(run('list', ...arguments_).stdout).toContain(
        `Not shown, because the record of 1 sandbox cannot be read; nothing of it is removed:\n  ${id}  (kept by nobody; `,
      );
    }
    expect(run('cleanup', '--abandoned').code).toBe(3);
    expect(existsSync(path)).toBe(true);
    expect(run('cleanup', other.id).code).toBe(0);
    expect(json('list')).toMatchObject({ sandboxes: [], damaged: [{ id }] });
    expect(run('list').stdout).toContain(`  ${id}  (kept by nobody; `);
  });

  it('list takes a directory, also one that is gone', () => {
    const { home, workspace, json, made, run } = prepared();
    const other = write(join(home, 'other'), { x: 'y' });
    const [first, second] = [made(), made(other)];
    expect(json('list').sandboxes).toHaveLength(2);
    expect(json('list', other).sandboxes).toMatchObject([{ id: second.id }]);
    expect(json('list', '.').sandboxes).toMatchObject([{ id: first.id }]);
    rmSync(other, { recursive: true });
    expect(json('list', other).sandboxes).toMatchObject([{ id: second.id }]);
    rmSync(workspace, { recursive: true });
    mkdirSync(workspace);
    expect(json('list', '.').sandboxes).toHaveLength(1);
    const nowhere = run('list', join(home, 'nowhere'));
    expect(nowhere).toMatchObject({ code: 1, stderr: expect.stringContaining('NOT_FOUND: there is no directory') });
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
  it('input 106: what a command did to the configuration and hooks of the repository is said, whatever becomes of its work', () => {
    const { run, made, workspace } = repository();
    const { id, path } = made('--strategy', 'git_worktree');
    const harmless = run('changes', id);
    expect(harmless.stderr).toBe('');
    git(path, 'config', 'core.fsmonitor', './x');
    for (const [command, ...options] of [['changes'], ['rollback'], ['cleanup', '--force']]) {
      const { stderr } = run(String(command), id, ...options);
      expect(stderr).toMatch(/^turnback: warning: git's configuration or hooks in the resource's repository changed /);
      expect(stderr).toContain(`paths: ${join(workspace, '.git', 'config')}`);
    }
  });

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
