// Item 8 of the sandboxes: ids, texts on a terminal and elsewhere, and wrong usage of `turnback sandbox` (S5, X2).
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { prepared } from './sandbox-scene.js';
import { turnback, write } from './support.js';
import { atTerminal, needsTerminal } from './terminal.js';

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
    ['abc', 2, 'abc is no sandbox id'],
    ['', 2, "'' is no sandbox id"],
    ['\x1b[31mred', 2, '\\x1b[31mred is no sandbox id'],
    ['../../etc', 2, '../../etc is no sandbox id'],
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
      ['create', 'list', 'path', 'changes', 'commit', 'undo-commit', 'rollback', 'lease', 'cleanup'].map(
        (n) => `sandbox ${n}`,
      ),
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

  it('one is made where --location says', () => {
    const { home, json, run } = prepared();
    const location = join(home, 'made', 'here');
    const { id, path } = json('create', '--location', location);
    expect(path.startsWith(`${location}/`)).toBe(true);
    expect(run('cleanup', id).code).toBe(0);
  });

  it('of what is not isolated nothing is advised that does not apply to it', () => {
    const { workspace, run } = prepared();
    const { stdout } = run('create', '--strategy', 'none');
    expect(stdout).toContain(`To be able to go back: turnback checkpoint ${workspace}\n`);
    expect(stdout).not.toMatch(/sandbox (?:changes|commit)/);
  });

  it('merging texts is advised where there can be any', () => {
    const { workspace, run, made } = prepared({ 'a.txt': 'one\n', 'b.txt': 'one\n' });
    const { id, path } = made();
    writeFileSync(join(path, 'b.txt'), 'two\n');
    rmSync(join(workspace, 'b.txt'));
    mkdirSync(join(workspace, 'b.txt'));
    expect(run('commit', id).stdout).not.toContain('--text-merge');
    writeFileSync(join(path, 'a.txt'), 'two\n');
    writeFileSync(join(workspace, 'a.txt'), 'three\n');
    expect(run('commit', id).stdout).toContain('--text-merge');
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
