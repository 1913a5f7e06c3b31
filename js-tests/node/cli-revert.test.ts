// X2, C15: `turnback revert`: what was taken back, what was kept, what conflicts, what to type next, and the exit code.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { picture, temporary, turnback, write } from './support.js';

function turn() {
  const home = temporary();
  const workspace = write(join(home, 'work'), { 'a.txt': 'one\n', 'b.txt': 'two\n' });
  const env = { TURNBACK_STORE: join(home, 'store') };
  const run = (...args: string[]) => turnback(args, { cwd: workspace, env });
  const from = run('checkpoint', '--quiet').stdout.trim();
  write(workspace, { 'a.txt': 'by the agent\n', 'new.txt': 'by the agent\n' });
  const to = run('checkpoint', '--quiet').stdout.trim();
  return { workspace, run, from, to };
}

describe('revert', () => {
  it('takes a turn back and keeps later edits; undo brings it back', () => {
    const { workspace, run, from, to } = turn();
    writeFileSync(join(workspace, 'b.txt'), 'mine\n');
    const before = picture(workspace);
    expect(run('revert', from, to, '--dry-run')).toMatchObject({
      code: 0,
      stderr: '',
      stdout: [
        `A revert would take back in ${workspace} (nothing was changed yet):`,
        'M a.txt',
        'A new.txt',
        '1 added (A), 1 modified (M)',
        '',
      ].join('\n'),
    });
    expect(picture(workspace)).toEqual(before);
    const done = run('revert', from, to);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toMatch(
      new RegExp(
        `^Taken back in ${workspace}: what changed from ${from} to ${to} \\([\\d.]+ m?s\\)\\.\\n` +
          '  1 path written, 1 path deleted; later edits to other paths are kept\\n' +
          'To take this back: turnback undo \\w{26}\\n$',
      ),
    );
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('one\n');
    expect(readFileSync(join(workspace, 'b.txt'), 'utf8')).toBe('mine\n');
    expect(run('revert', from, to).stdout).toMatch(/^Nothing to do: /);
    expect(run('undo', done.stdout.trim().split(' ').at(-1) ?? '').code).toBe(0);
    expect(picture(workspace)).toEqual(before);
  });

  it('conflicts: 4, nothing changed, and the two ways on, which work as they are printed', () => {
    const { workspace, run, from, to } = turn();
    writeFileSync(join(workspace, 'a.txt'), 'mine again\n');
    const before = picture(workspace);
    const refused = run('revert', from, to);
    expect(refused).toMatchObject({ code: 4, stderr: '' });
    const lines = refused.stdout.split('\n');
    expect(lines.slice(0, 5)).toEqual([
      'Nothing was changed: 1 path was changed again since, and taking it back would lose those edits.',
      '  a.txt',
      '    now     a file of 11 bytes',
      '    before  a file of 4 bytes',
      'To take back all the rest:',
    ]);
    expect(picture(workspace)).toEqual(before);
    expect(run('revert', from, to, '--allow-partial').code).toBe(4);
    expect(run('revert', from, to, '--dry-run').code).toBe(4);
    const unsafe = run('revert', from, to, '--no-safety');
    expect(unsafe, 'the ways on can be undone, as it says').toMatchObject({ code: 4, stdout: refused.stdout });
    const asJson = run('revert', from, to, '--json');
    expect(asJson.code).toBe(4);
    expect(JSON.parse(asJson.stdout)).toMatchObject({
      restored: false,
      conflicts: [{ path: 'a.txt', ours: 'a file of 11 bytes', theirs: 'a file of 4 bytes' }],
      actions: [],
    });

    const typed = (line: string | undefined) => run(...(line ?? '').trim().split(/ +/).slice(1, 6));
    expect(lines[5]).toMatch(/^ {2}turnback revert \w{26} \w{26} --on-conflict ours {4}keeps this path as it is now$/);
    const ours = typed(lines[5]);
    expect(ours.code).toBe(0);
    expect(ours.stdout).toContain('Changed again since and kept, 1 path:\n  a.txt\n');
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('mine again\n');
    const theirs = typed(lines[6]);
    expect(theirs.code).toBe(0);
    expect(theirs.stdout).toContain('Changed again since and taken back too, 1 path:\n  a.txt\n');
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('one\n');
  });

  it('--path takes a part back, and what is to be typed next keeps it', () => {
    const { workspace, run, from, to } = turn();
    writeFileSync(join(workspace, 'a.txt'), 'mine again\n');
    expect(run('revert', from, to, '--path', './new.txt')).toMatchObject({ code: 0 });
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('mine again\n');
    expect(run('revert', from, to, '--path', 'a.txt').stdout).toContain('--on-conflict ours --path a.txt  ');
  });
});
