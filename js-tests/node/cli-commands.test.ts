// X2, item 9 of the foundation: every command, its answers for people and for scripts, and its exit codes.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { node, PACKAGE, picture, temporary, turnback, write } from './support.js';

const ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

function prepared(files: Record<string, string> = { 'a.txt': 'one\n', 'sub/b.txt': 'two\n' }) {
  const home = temporary();
  const workspace = write(join(home, 'work'), files);
  const env = { TURNBACK_STORE: join(home, 'store') };
  const run = (...args: string[]) => turnback(args, { cwd: workspace, env });
  const json = (...args: string[]) => JSON.parse(run(...args, '--json').stdout);
  return { home, workspace, env, run, json };
}

describe('checkpoint, list, show', () => {
  it('checkpoint prints the id first, what it holds, and how to go back', () => {
    const { workspace, run } = prepared();
    const { code, stdout, stderr } = run('checkpoint');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const [id, holds, back] = stdout.split('\n');
    expect(id).toMatch(ID);
    expect(holds).toBe(`  ${workspace}: 4 paths, 8 B`);
    expect(back).toBe(`To go back to it: turnback rollback ${id}`);
  });

  it('takes every option, and --json gives the record', () => {
    const { workspace, json } = prepared({ 'a.txt': 'x', 'skip/me': 'x', '.gitignore': 'out\n', out: 'x' });
    const record = json(
      'checkpoint',
      '.',
      '--plan',
      'p1',
      '--phase',
      'pre_batch',
      '--label',
      'L',
      '--meta',
      'k=v=w',
      '--meta',
      'l=',
      '--exclude',
      '/skip',
      '--exclude-ignored',
    );
    expect(record).toMatchObject({
      checkpointId: expect.stringMatching(ID),
      planId: 'p1',
      phase: 'pre_batch',
      metadata: { k: 'v=w', l: '' },
      workspace,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      coverage: { files: 3, complete: true },
    });
    expect(json('list').checkpoints).toMatchObject([{ checkpointId: record.checkpointId, label: 'L', pinned: false }]);
  });

  it('list shows all, or those of one directory, which need not exist any more', () => {
    const { home, workspace, run, json } = prepared();
    const id = run('checkpoint', '--quiet', '--label', 'mine').stdout.trim();
    const other = write(join(home, 'other'), { x: 'y' });
    const second = run('checkpoint', other, '--quiet').stdout.trim();
    expect(run('list', '--quiet').stdout).toBe(`${id}\n${second}\n`);
    expect(run('list', other, '--quiet').stdout).toBe(`${second}\n`);
    rmSync(other, { recursive: true });
    expect(json('list', other).checkpoints).toHaveLength(1);
    const [head, row] = run('list', '.').stdout.split('\n');
    expect(head).toMatch(/^ID +WHEN +PHASE +PLAN +LABEL +PATHS +SIZE +WORKSPACE$/);
    expect(row).toMatch(
      new RegExp(`^${id}  \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d  manual  manual  mine +4 +8 B  ${workspace}$`),
    );
    expect(run('list', join(home, 'never')).stdout).toContain(`no checkpoints of ${join(home, 'never')}`);
  });

  it('show takes an id or the beginning of one', () => {
    const { workspace, run, json } = prepared();
    const id = run('checkpoint', '--quiet', '--meta', 'a=b').stdout.trim();
    const shown = run('show', id);
    expect(shown.stdout).toContain(`checkpoint  ${id}\nworkspace   ${workspace}\n`);
    expect(shown.stdout).toContain('metadata    a=b\n');
    expect(json('show', id.slice(0, 8)).checkpointId).toBe(id);
    expect(json('show', id.slice(0, 8).toLowerCase()).checkpointId).toBe(id);
    run('checkpoint');
    expect(run('show', id.slice(0, 6))).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/2 checkpoint ids begin with/),
    });
  });
});

describe('diff, rollback, undo', () => {
  it('the whole trip', () => {
    const { workspace, run, json } = prepared();
    const before = picture(workspace);
    const id = run('checkpoint', '--quiet').stdout.trim();
    expect(run('diff', id)).toMatchObject({ code: 0, stdout: 'No difference.\n' });
    writeFileSync(join(workspace, 'a.txt'), 'changed\n');
    rmSync(join(workspace, 'sub/b.txt'));
    write(workspace, { 'new.txt': 'n' });
    const damaged = picture(workspace);

    expect(run('diff', id).stdout).toMatch(
      /^[\s\S]*M a\.txt\n[\s\S]*\n1 added \(A\), 1 deleted \(D\), 1 modified \(M\)/,
    );
    expect(run('diff', id, '--quiet').stdout.split('\n')).toEqual(
      expect.arrayContaining(['M a.txt', 'D sub/b.txt', 'A new.txt']),
    );
    expect(json('diff', id)).toMatchObject({ from: id, to: 'now', counts: { added: 1, deleted: 1, modified: 1 } });
    const second = run('checkpoint', '--quiet').stdout.trim();
    expect(json('diff', id, second).counts).toMatchObject({ added: 1, deleted: 1, modified: 1 });

    const dry = run('rollback', id, '--dry-run');
    expect(dry.stdout).toContain('nothing was changed yet');
    expect(dry.stdout).toContain('M a.txt\n');
    expect(picture(workspace)).toEqual(damaged);

    const done = run('rollback', id);
    expect(done).toMatchObject({ code: 0, stderr: '' });
    expect(done.stdout).toMatch(new RegExp(`^${workspace} is as it was at ${id}`));
    expect(picture(workspace)).toEqual(before);
    const undo = /To take this back: turnback undo (\S+)\n$/.exec(done.stdout)?.[1] ?? '';
    expect(undo).toMatch(ID);

    expect(json('undo', undo)).toMatchObject({ restored: true, undoCheckpointId: expect.stringMatching(ID) });
    expect(picture(workspace)).toEqual(damaged);
    expect(run('undo', id)).toMatchObject({ code: 1, stderr: expect.stringMatching(/^turnback: NOT_UNDOABLE: /) });
  });

  it('--path restores a part, --into another directory', () => {
    const { home, workspace, run, json } = prepared();
    const before = picture(workspace);
    const id = run('checkpoint', '--quiet').stdout.trim();
    write(workspace, { 'a.txt': 'changed', 'sub/b.txt': 'changed' });
    run('rollback', id, '--path', './sub/');
    expect(readFileSync(join(workspace, 'sub/b.txt'), 'utf8')).toBe('two\n');
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('changed');
    expect(json('rollback', id, '--into', join(home, 'copy'), '--git', 'exact').restored).toBe(true);
    expect(picture(join(home, 'copy'))).toEqual(before);
  });
});

describe('delete, verify, usage, export, doctor', () => {
  it('each does what it says', () => {
    const { home, workspace, env, run, json } = prepared();
    const before = picture(workspace);
    const id = run('checkpoint', '--quiet').stdout.trim();
    expect(run('verify')).toMatchObject({ code: 0, stdout: '1 checkpoint checked, all sound.\n' });
    expect(json('verify', id)).toEqual({ checked: 1, ok: true, damaged: [], pending: [] });
    expect(run('usage').stdout).toMatch(/ holds [\d.]+ [KM]?i?B/);
    expect(json('usage')).toMatchObject({
      storePath: env.TURNBACK_STORE,
      storeBytes: expect.any(Number),
      checkpoints: [{ checkpointId: id }],
    });
    expect(run('export', id, join(home, 'copy'))).toMatchObject({
      code: 0,
      stdout: `Wrote 4 paths into ${join(home, 'copy')}.\n`,
    });
    expect(picture(join(home, 'copy'))).toEqual(before);
    expect(json('doctor')).toMatchObject({ storePath: env.TURNBACK_STORE, findings: expect.any(Array) });
    expect(run('doctor').stdout).toMatch(/CHECK/);
    expect(run('delete', id)).toMatchObject({ code: 0, stdout: `Deleted ${id}.\n` });
    expect(run('delete', id)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^turnback: NOT_FOUND: there is no checkpoint/),
    });
  });
});

describe('done in part: 3', () => {
  async function socketIn(directory: string): Promise<void> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(directory, 's'), resolve));
    onTestFinished(() => void server.close());
  }

  it('what is not covered is listed; --allow-partial makes it 0', async () => {
    const { home, workspace, run, json } = prepared();
    await socketIn(workspace);
    const { code, stdout } = run('checkpoint');
    expect(code).toBe(3);
    expect(stdout).toContain('Not covered, 1 path:\n  s  (socket)\n');
    expect(run('checkpoint', '--allow-partial').code).toBe(0);
    const { checkpointId } = json('checkpoint');
    expect(run('list').stdout).toContain('[partial]');
    expect(run('show', checkpointId)).toMatchObject({ code: 0, stdout: expect.stringContaining('  s  (socket)') });
    expect(run('export', checkpointId, join(home, 'copy')).code).toBe(3);
    rmSync(join(workspace, 's'));
    const rolledBack = run('rollback', checkpointId);
    expect(rolledBack.stdout).toContain('Not restorable, 1 path:\n  s  (socket)\n');
    expect(rolledBack.code).toBe(3);
    expect(run('rollback', checkpointId, '--allow-partial').code).toBe(0);
  });
});

describe('an interrupt', () => {
  it('ends the command with ABORTED, and no checkpoint is left', () => {
    const { workspace, env, run, json } = prepared();
    const ran = node(
      `const { main } = await import(${JSON.stringify(join(PACKAGE, 'dist/cli.js'))});
       const ending = main(['checkpoint', process.env.WORKSPACE]);
       process.emit('SIGINT');
       process.exitCode = await ending;`,
      { env: { ...env, WORKSPACE: workspace } },
    );
    expect(ran).toMatchObject({ code: 1, stdout: '' });
    expect(ran.stderr).toMatch(/^turnback: ABORTED: the checkpoint was cancelled; [^\n]+\n$/);
    expect(json('list').checkpoints).toEqual([]);
    expect(run('checkpoint').code).toBe(0);
  });
});

describe('the store', () => {
  it('--store wins over $TURNBACK_STORE, that over $XDG_STATE_HOME, that over the home directory', () => {
    const home = temporary();
    const workspace = write(join(home, 'work'), { a: 'x' });
    const where = (args: string[], env: Record<string, string>) =>
      JSON.parse(turnback(['usage', '--json', ...args], { cwd: workspace, env }).stdout).storePath;
    const all = { HOME: join(home, 'h'), XDG_STATE_HOME: join(home, 'x'), TURNBACK_STORE: join(home, 't') };
    write(all.HOME, {});
    expect(where(['--store', join(home, 's')], all)).toBe(join(home, 's'));
    expect(where([], all)).toBe(join(home, 't'));
    expect(where([], { ...all, TURNBACK_STORE: '' })).toBe(join(home, 'x', 'turnback'));
    expect(where([], { ...all, TURNBACK_STORE: '', XDG_STATE_HOME: '' })).toBe(join(home, 'h/.local/state/turnback'));
    expect(turnback(['--store', join(home, 's'), 'list'], { cwd: workspace }).code).toBe(0);
    expect(existsSync(join(home, 's'))).toBe(true);
  });
});
