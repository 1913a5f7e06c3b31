// X2, C8, C15, C16: what the command line says is so: what can be undone and what cannot, of which paths it speaks, what was done before
// something failed, and commands that work as they are printed.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointManager } from 'turnback';
import { describe, expect, it } from 'vitest';
import { DAMAGED, damaged, interrupted, journalOf, MANY } from './interrupted.js';
import { PACKAGE, temporary, turnback, UNKNOWN_ID, write } from './support.js';

const SEVEN = Array.from({ length: 7 }, (_, at) => `p${at}`);
const FILES = {
  'a.txt': 'one\n',
  'b.txt': 'two\n',
  'c d.txt': 'three\n',
  ...Object.fromEntries(SEVEN.map((name) => [name, ''])),
};

function prepared() {
  const home = temporary();
  const workspace = write(join(home, 'work'), FILES);
  const store = join(home, 'store');
  const run = (...args: string[]) => turnback(args, { cwd: workspace, env: { TURNBACK_STORE: store } });
  const take = (...args: string[]) => run('checkpoint', '--quiet', ...args).stdout.trim();
  return { home, workspace, store, run, take };
}

/** Runs a line as somebody who pastes it into a shell, in another directory and without our settings. */
function pasted(line: string) {
  const { TURNBACK_STORE: _store, ...env } = process.env;
  const us = `turnback() { "${process.execPath}" "${join(PACKAGE, 'bin', 'turnback.js')}" "$@"; }`;
  return spawnSync('bash', ['-c', `${us}\n${line}`], { encoding: 'utf8', cwd: '/', env });
}

describe('--no-safety', () => {
  it('its help sets no condition, and who used it hears that it cannot be undone', () => {
    const { workspace, run, take } = prepared();
    const from = take();
    write(workspace, { 'a.txt': 'two\n' });
    const to = take();
    for (const command of ['rollback', 'revert']) {
      expect(run(command, '--help').stdout, command).toMatch(/--no-safety +take no checkpoint .*: it cannot be undone/);
    }
    const never = 'This cannot be undone: no checkpoint was taken of the state before (--no-safety).\n';
    const planned = 'It could not be undone: no checkpoint would be taken first (--no-safety).\n';
    for (const args of [
      ['revert', from, to],
      ['rollback', from],
    ]) {
      write(workspace, { 'a.txt': 'two\n' });
      expect(run(...args, '--no-safety', '--dry-run').stdout, args[0]).toContain(planned);
      expect(run(...args, '--dry-run').stdout, args[0]).not.toContain('undone');
      const done = run(...args, '--no-safety');
      expect(done, args[0]).toMatchObject({ code: 0, stdout: expect.stringContaining(never) });
      expect(done.stdout).not.toContain('turnback undo');
      // Nothing was done, so that there is nothing to undo.
      expect(run(...args, '--no-safety').stdout, args[0]).not.toContain('undone');
    }
  });
});

describe('a part of a directory', () => {
  it('rollback, undo and revert say which paths they were about', () => {
    const { workspace, run, take } = prepared();
    const from = take();
    const now = { 'a.txt': '2\n', 'b.txt': '2\n', 'c d.txt': '2\n' };
    write(workspace, now);
    const to = take();
    const one = ['--path', 'a.txt'];
    const two = [...one, '--path', './c d.txt'];
    expect(run('rollback', from, ...one, '--dry-run').stdout).toMatch(
      new RegExp(`^A rollback of a\\.txt in ${workspace} would take back`),
    );
    const done = run('rollback', from, ...one).stdout;
    expect(done).toMatch(new RegExp(`^a\\.txt in ${workspace} is as it was at ${from} `));
    const undone = run('undo', /turnback undo (\w+)/.exec(done)?.[1] ?? '').stdout;
    expect(undone).toMatch(new RegExp(`^a\\.txt in ${workspace} is as it was at `));
    expect(run('rollback', to, ...two, '--dry-run').stdout).toBe(
      `Nothing to do: a.txt, c d.txt in ${workspace} equal the checkpoint.\n`,
    );
    expect(run('rollback', from, ...two).stdout).toMatch(
      new RegExp(`^a\\.txt, c d\\.txt in ${workspace} are as they were at ${from} `),
    );
    expect(run('rollback', to).stdout).toMatch(new RegExp(`^${workspace} is as it was at ${to} `));
    expect(run('revert', from, to, ...one, '--dry-run').stdout).toMatch(
      new RegExp(`^A revert would take back in a\\.txt in ${workspace} `),
    );
    expect(run('revert', from, to, ...one).stdout).toMatch(new RegExp(`^Taken back in a\\.txt in ${workspace}: `));
    expect(run('revert', from, to, ...one).stdout).toMatch(
      new RegExp(`^Nothing to do: in a\\.txt in ${workspace} nothing is left of what changed`),
    );
    write(workspace, { 'b.txt': 'mine\n' });
    expect(run('revert', from, to, '--path', 'b.txt').stdout).toMatch(
      new RegExp(`^Nothing was changed, of a revert of b\\.txt in ${workspace}: 1 path was changed again since`),
    );
    const many = SEVEN.flatMap((name) => ['--path', name]);
    expect(run('rollback', to, ...many).stdout).toMatch(/^p0, p1, p2, p3, p4, 2 more in /);
    const json = JSON.parse(run('rollback', from, ...two, '--json').stdout);
    expect(json.paths).toEqual([{ path: 'a.txt' }, { path: 'c d.txt' }]);
    expect(JSON.parse(run('rollback', from, '--json').stdout)).not.toHaveProperty('paths');
  });

  it('C15: --on-conflict ours does not say that nothing is left beside what is', () => {
    const { workspace, run, take } = prepared();
    const from = take();
    write(workspace, { 'a.txt': 'turn\n' });
    const to = take();
    write(workspace, { 'a.txt': 'mine\n' });
    const [planned, done] = [
      run('revert', from, to, '--on-conflict', 'ours', '--dry-run').stdout,
      run('revert', from, to, '--on-conflict', 'ours').stdout,
    ];
    expect(planned).toMatch(/^Nothing would be taken back in .* there is only what is listed here\.\n/);
    expect(done).toMatch(/^Nothing was taken back in .* there is only what is listed here\.\n/);
    for (const told of [planned, done]) {
      expect(told).not.toMatch(/nothing is left/i);
      expect(told).toMatch(/^Changed again since and (would be )?kept, 1 path:\n {2}a\.txt$/m);
    }
  });
});

describe('what waits', () => {
  it('is advised in commands that work as they are printed: names with blanks, another store', async () => {
    const home = temporary();
    const place = write(join(home, 'line\nbreak \\ and \u200b'), MANY);
    const store = join(home, "a b'c");
    const manager = await CheckpointManager.open({ store });
    const first = await manager.createCheckpoint(place, 'p', 'manual');
    write(place, DAMAGED);
    await interrupted(manager, place, first);
    await manager.close();
    const { stderr } = turnback(['list', '--store', store]);
    const done = pasted(/or now: (turnback recover .*)\n$/.exec(stderr)?.[1] ?? '');
    expect({ status: done.status, stderr: done.stderr }).toEqual({ status: 0, stderr: '' });
    expect(done.stdout).toMatch(/was finished\.\n/);
    expect(readFileSync(join(place, 'd0/f0'), 'utf8')).toBe('0\n');
    const back = pasted(/(turnback undo .*)\n$/.exec(done.stdout)?.[1] ?? '');
    expect({ status: back.status, stderr: back.stderr }).toEqual({ status: 0, stderr: '' });
    expect(readFileSync(join(place, 'd0/f0'), 'utf8')).toBe('damaged\n');
  });

  it('a damaged journal: why, of what directory, and how to go on, in the same store', async () => {
    const { manager, workspace, store, checkpoint } = await damaged();
    const { details } = await interrupted(manager, workspace, checkpoint);
    writeFileSync(journalOf(manager, checkpoint), 'no journal');
    const told = turnback(['list', '--store', store]).stderr;
    expect(told).toMatch(
      new RegExp(`^turnback: an interrupted rollback of ${workspace} whose journal is damaged waits; `),
    );
    expect(told).toContain(
      `\`turnback rollback ${details.undoCheckpointId} --store ${store}\` brings back the state before`,
    );
    expect(told).toMatch(new RegExp(`or now: turnback recover ${workspace} --store ${store}\\n$`));
    const aside = turnback(['recover', workspace, '--store', store]);
    expect(aside.code).toBe(3);
    expect(aside.stdout).toContain(`\`turnback rollback ${checkpoint.checkpointId} --store ${store}\``);
    expect(aside.stdout).toMatch(/ {2}the damaged journal is kept: \S+\n/);
    // Nobody can tell of which directory it is when no checkpoint of it is left.
    writeFileSync(journalOf(manager, checkpoint), 'no journal');
    await manager.close();
    rmSync(join(store, 'checkpoints'), { recursive: true });
    mkdirSync(join(store, 'checkpoints'));
    const unknown = turnback(['list', '--store', store]).stderr;
    expect(unknown).toMatch(/which directory it is of nobody knows, because none of its checkpoints is left: /);
    expect(unknown).toContain(
      `the one whose id is ${checkpoint.sandboxId} (sandboxId in turnback checkpoint --json --store ${store})`,
    );
  });
});

describe('several ids', () => {
  it('C9: what was done before one of them failed is told, also to programs', () => {
    const { run, take, store } = prepared();
    const [a, b] = [take(), take()];
    const marks = join(store, 'checkpoints', b, 'marks');
    mkdirSync(marks);
    for (const [command, did] of [
      ['pin', 'pinned'],
      ['unpin', 'unpinned'],
    ] as const) {
      const failed = run(command, a, b);
      expect(failed).toMatchObject({ code: 1, stdout: '' });
      expect(failed.stderr).toMatch(
        new RegExp(
          `^turnback: CORRUPT: ${b}: [^\\n]*${marks}[^\\n]*move the directory [^\\n]*; ${did} before that: ${a}\\n$`,
        ),
      );
      expect(JSON.parse(run(command, a, b, '--json').stdout)).toMatchObject({
        error: { code: 'CORRUPT', details: { checkpointId: b, done: [a] } },
      });
      expect(run('list').stdout.split('\n')[1]?.endsWith('[pinned]'), command).toBe(command === 'pin');
    }
    expect(run('pin', b).stderr).not.toContain('before that');
  });

  it('which of them is no id', () => {
    const { run, take } = prepared();
    const a = take();
    for (const args of [
      ['pin', a, 'bad one'],
      ['delete', a, 'bad one'],
      ['diff', a, 'bad one'],
      ['revert', a, 'bad one'],
      ['sandbox', 'path', 'bad one'],
    ]) {
      const wrong = run(...args);
      expect(wrong.code, args.join(' ')).toBe(2);
      expect(wrong.stderr, args.join(' ')).toMatch(
        /^turnback: INVALID_ARGUMENT: bad one is no (checkpoint|sandbox) id: /,
      );
    }
    expect(run('pin', 'x'.repeat(10_000)).stderr.length).toBeLessThan(400);
    expect(run('pin', '').stderr).toContain("'' is no checkpoint id");
    expect(run('pin', UNKNOWN_ID).stderr).toContain(UNKNOWN_ID);
  });
});

describe('prune', () => {
  it('C16: a size that is not reached is told, with 3; a dry run says what the run itself needs', () => {
    const { run, take, store } = prepared();
    const [a, b] = [take(), take()];
    run('pin', a);
    const dry = run('prune', '--max-bytes', '1K', '--dry-run');
    expect(dry.code).toBe(3);
    expect(dry.stdout).toMatch(
      /The store would still hold about [\d.]+ KiB, more than the 1\.0 KiB that were asked for: no more may go\.\nThe run itself deletes every checkpoint that is not pinned: it asks first, or needs --yes\.\n$/,
    );
    expect(run('prune', '--max-bytes', '1K').code).toBe(2);
    const json = run('prune', '--max-bytes', '1K', '--yes', '--json');
    expect(json.code).toBe(3);
    expect(JSON.parse(json.stdout)).toMatchObject({
      deleted: [b],
      storeBytes: JSON.parse(run('usage', '--json').stdout).storeBytes,
      targetReached: false,
    });
    const again = run('prune', '--max-bytes', '1K');
    expect(again).toMatchObject({ code: 3, stdout: expect.stringMatching(/The store still holds [\d.]+ KiB, more/) });
    expect(run('prune', '--max-bytes', '1K', '--allow-partial').code).toBe(0);
    expect(run('prune', '--max-bytes', '1G')).toMatchObject({ code: 0, stdout: expect.not.stringContaining('holds') });
    // P7: damaged is not pinned.
    writeFileSync(join(store, 'checkpoints', a, 'marks'), 'nonsense');
    const kept = run('prune', '--keep-last', '0').stdout;
    expect(kept).toContain('1 with label and pin damaged, so that they count as pinned');
    expect(kept).not.toContain('turnback unpin)');
  });
});
