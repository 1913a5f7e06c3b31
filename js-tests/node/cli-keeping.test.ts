// X2, C9, C16: what stays and what goes, on the command line: prune, pin, label, delete, usage, doctor; and turns.
import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporary, turnback, UNKNOWN_ID, write } from './support.js';

function prepared() {
  const home = temporary();
  const workspace = write(join(home, 'work'), { 'a.txt': 'one\n' });
  const store = join(home, 'store');
  const env = { TURNBACK_STORE: store, NODE_ENV: '', SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: '' };
  const run = (...args: string[]) => turnback(args, { cwd: workspace, env });
  const json = (...args: string[]) => JSON.parse(run(...args, '--json').stdout);
  const take = (...args: string[]) => {
    writeFileSync(join(workspace, 'changing'), randomBytes(64 << 10));
    return run('checkpoint', '--quiet', ...args).stdout.trim();
  };
  return { home, workspace, store, run, json, take };
}

describe('prune', () => {
  it('a dry run says what would go and why the rest stays; the real one does it', () => {
    const { run, json, take } = prepared();
    const [a, b, c] = [take(), take(), take()];
    expect(run('pin', a)).toMatchObject({ code: 0, stdout: `Pinned ${a}.\n` });
    const planned = run('prune', '--keep-last', '1', '--dry-run');
    expect(planned.code).toBe(0);
    expect(planned.stdout).toMatch(
      new RegExp(
        `^${b}\\n1 checkpoint would go, and about [\\d.]+ KiB with it \\(nothing was deleted yet\\)\\.\\n` +
          '2 checkpoints would stay:\\n  1 pinned \\(turnback unpin\\)\\n  1 among the last ones of their directory\\n$',
      ),
    );
    expect(run('list', '--quiet').stdout).toBe(`${a}\n${b}\n${c}\n`);
    expect(run('prune', '--keep-last', '1', '--dry-run', '--quiet').stdout).toBe(`${b}\n`);
    expect(run('prune', '--keep-last', '1').stdout).toMatch(
      new RegExp(`^${b}\\n1 checkpoint deleted, [\\d.]+ KiB freed\\.\\n2 checkpoints stay:\\n`),
    );
    expect(run('list', '--quiet').stdout).toBe(`${a}\n${c}\n`);
    expect(json('prune', '--keep-within', '1d')).toEqual({
      deleted: [],
      kept: [
        { checkpointId: a, reason: 'pinned' },
        { checkpointId: c, reason: 'keep_within' },
      ],
      freedBytes: 0,
      storeBytes: json('usage').storeBytes,
      targetReached: true,
      takesAll: false,
    });
    expect(run('unpin', a).stdout).toBe(`${a} is not pinned any more.\n`);
    // C9: nothing would be left, and nobody is there to be asked.
    for (const rule of [
      ['--max-bytes', '1K'],
      ['--max-bytes', '0'],
      ['--keep-last', '0'],
    ]) {
      const refused = run('prune', ...rule);
      expect(refused, rule.join(' ')).toMatchObject({ code: 2, stdout: '' });
      expect(refused.stderr).toMatch(/would delete all 2 checkpoints that can go: .*nothing was deleted; .*--yes\)\n$/);
      expect(run('prune', ...rule, '--dry-run', '--quiet').stdout).toBe(`${a}\n${c}\n`);
    }
    expect(run('prune', '--max-bytes', '1K', '--yes', '--quiet').stdout).toBe(`${a}\n${c}\n`);
    expect(run('prune').stdout).toBe('No checkpoint has to go.\n');
  });
});

describe('pin, label, delete', () => {
  it('list shows pins and labels; several ids at once, all or none', () => {
    const { run, json, take } = prepared();
    const [a, b, c] = [take(), take(), take('--label', 'third')];
    expect(run('pin', a, b.toLowerCase(), a)).toMatchObject({ code: 0, stdout: `Pinned ${a}.\nPinned ${b}.\n` });
    expect(run('label', b, 'before the upgrade').stdout).toBe(`${b} is labelled before the upgrade.\n`);
    const rows = run('list').stdout.split('\n');
    expect(rows[2]).toMatch(/before the upgrade .* \[pinned\]$/);
    expect(json('list').checkpoints).toMatchObject([
      { checkpointId: a, pinned: true },
      { pinned: true, label: 'before the upgrade' },
      { pinned: false, label: 'third' },
    ]);
    expect(json('label', c, '--remove')).toEqual({ checkpointId: c, label: null, pinLost: false });
    expect(json('unpin', a)).toEqual({ checkpointIds: [a], pinned: false, labelsLost: [] });
    expect(run('delete', a, UNKNOWN_ID)).toMatchObject({ code: 1, stdout: '' });
    expect(run('list', '--quiet').stdout).toBe(`${a}\n${b}\n${c}\n`);
    expect(json('delete', c, a)).toEqual({ deleted: [c, a] });
    expect(run('list', '--quiet').stdout).toBe(`${b}\n`);
  });
});

describe('damage', () => {
  it('list --json has the damaged ones, doctor counts them, and delete takes them', () => {
    const { run, json, take, store } = prepared();
    const [a, b] = [take(), take()];
    writeFileSync(join(store, 'checkpoints', a, 'record'), 'no record');
    const listed = json('list');
    expect(listed.checkpoints).toMatchObject([{ checkpointId: b }]);
    expect(listed.damaged).toEqual([{ checkpointId: a, reason: expect.any(String) }]);
    expect(run('doctor').stdout).toMatch(/^-- {2}damaged checkpoints +1 record: see `turnback verify`$/m);
    expect(run('delete', a)).toMatchObject({ code: 0, stdout: `Deleted ${a}.\n` });
    expect(json('list')).toMatchObject({ checkpoints: [{ checkpointId: b }], damaged: [], pending: [] });
  });
});

describe('damaged labels and pins', () => {
  it('list and show say so, for programs too; pin and label write them anew and say what is lost', () => {
    const { run, json, take, store } = prepared();
    const id = take('--label', 'mine');
    const damage = () => writeFileSync(join(store, 'checkpoints', id, 'marks'), 'nonsense');
    damage();
    const [, row, advice] = run('list').stdout.split('\n');
    expect(row).toMatch(/ \[label and pin damaged\]$/);
    expect(advice).toMatch(/counts as pinned; `turnback pin`, `unpin` or `label` writes them anew\.$/);
    expect(json('list').checkpoints[0]).toMatchObject({ pinned: true, marksDamaged: expect.any(String) });
    expect(run('show', id).stdout).toMatch(/^marks +damaged, so that it counts as pinned: /m);
    // Its reasons do not send one to where one is.
    const [{ reason }] = json('verify').damaged;
    expect(reason).not.toContain('turnback verify');
    const done = run('unpin', id);
    expect(done.stdout).toBe(`${id} is not pinned any more.\n`);
    expect(done.stderr).toMatch(/warning: label and pin were damaged; a label that it had is lost/);
    expect(json('list').checkpoints[0]).toMatchObject({ pinned: false });
    damage();
    expect(json('label', id, 'again')).toEqual({ checkpointId: id, label: 'again', pinLost: true });
    expect(run('list').stdout).toMatch(/again .* \[pinned\]\n$/);
  });
});

describe('the cap', () => {
  it('usage and doctor say how full the store is; a checkpoint that does not fit is STORE_FULL', () => {
    const { run, json, take, workspace } = prepared();
    const id = take();
    expect(run('usage', '--store-cap', '10M').stdout).toMatch(/ holds [\d.]+ KiB of at most 10\.0 MiB \([\d.]+%\)\.\n/);
    expect(json('usage', '--store-cap', '1.5G').maxBytes).toBe(1.5 * 2 ** 30);
    expect(run('doctor').stdout).toMatch(/^ok {2}store cap +[\d.]+ KiB of at most [\d.]+ GiB \([\d.]+%\)$/m);
    expect(run('doctor').stdout).toMatch(/^ok {2}interrupted work +none$/m);
    writeFileSync(join(workspace, 'large'), randomBytes(2 << 20));
    const full = run('checkpoint', '--store-cap', '1M');
    expect(full).toMatchObject({ code: 1, stdout: '' });
    // More than the whole store may hold: no deletion would help.
    expect(full.stderr).toMatch(/^turnback: STORE_FULL: [^\n]*--store-cap\)\n$/);
    expect(JSON.parse(run('checkpoint', '--store-cap', '1M', '--json').stdout)).toMatchObject({
      error: { code: 'STORE_FULL', details: { maxBytes: 1 << 20 } },
    });
    expect(run('list', '--quiet').stdout).toBe(`${id}\n`);
  });

  it('run-guarded runs its command all the same, and says why there is no checkpoint (G5)', () => {
    const { run, workspace } = prepared();
    writeFileSync(join(workspace, 'large'), randomBytes(2 << 20));
    const ran = run('run-guarded', '--store-cap', '1M', '--', 'echo', 'ran');
    expect(ran).toMatchObject({ code: 0, stdout: 'ran\n' });
    expect(ran.stderr).toMatch(/STORE_FULL|the store may hold/);
    expect(ran.stderr).toMatch(/no checkpoint: failed/);
  });
});

describe('turns', () => {
  it('lists which checkpoint belongs to which turn; rollback --turn goes to before it', () => {
    const { run, json, workspace, home } = prepared();
    for (const turn of ['t 1', 't2']) run('run-guarded', '--turn', turn, '--', 'sh', '-c', `echo x > "${turn}"`);
    run('checkpoint');
    const { turns } = json('turns');
    expect(turns).toMatchObject([
      { turnId: 't 1', workspace, late: false, complete: true, createdAt: expect.stringMatching(/^\d{4}-/) },
      { turnId: 't2', workspace },
    ]);
    const [head, first] = run('turns', '.').stdout.split('\n');
    expect(head).toMatch(/^TURN +BEGAN +CHECKPOINT +WORKSPACE$/);
    expect(first).toMatch(
      new RegExp(`^t 1 +\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d  ${turns[0].checkpointId}  ${workspace}$`),
    );
    expect(run('turns', '--quiet').stdout).toBe(`${turns[0].checkpointId} t 1\n${turns[1].checkpointId} t2\n`);

    expect(json('rollback', '--turn', 't2', '--dry-run').actions).toContainEqual(
      expect.objectContaining({ path: 't2', kind: 'added' }),
    );
    const done = turnback(['rollback', '--turn', 't 1', '--of', workspace, '--store', join(home, 'store')], {
      cwd: home,
    });
    expect(done.code).toBe(0);
    expect(done.stdout).toContain(`is as it was at ${turns[0].checkpointId}`);
    expect(run('rollback', '--turn', 'none')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^turnback: NOT_FOUND: no checkpoint of this directory is of turn none; /),
    });
    // The id of a turn that comes back names two of them.
    run('run-guarded', '--turn', 't2', '--', 'true');
    expect(run('rollback', '--turn', 't2')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/INVALID_ARGUMENT: 2 checkpoints are of turn t2: give the ID of one instead/),
    });
    rmSync(workspace, { recursive: true });
    expect(
      turnback(['turns', workspace, '--store', join(home, 'store'), '--quiet'], {}).stdout.split('\n'),
    ).toHaveLength(4);
  });
});

describe('help for programs', () => {
  it('--help --json is one document with every command, option and exit code', () => {
    const { run } = prepared();
    const all = JSON.parse(run('--help', '--json').stdout);
    expect(Object.keys(all.exitCodes)).toEqual(['0', '1', '2', '3', '4']);
    const names: string[] = all.commands.map(({ name }: { name: string }) => name);
    for (const name of names) {
      const one = JSON.parse(run(name, '--help', '--json').stdout);
      expect(one.command).toEqual(all.commands.find((command: { name: string }) => command.name === name));
      expect(one.command.usage).toMatch(new RegExp(`^${name}\\b`));
    }
    expect(JSON.parse(run('help', 'revert', '--json').stdout).command.options).toContainEqual(
      expect.objectContaining({ name: '--on-conflict', value: 'fail|ours|theirs' }),
    );
    expect(JSON.parse(run('--version', '--json').stdout)).toEqual({ version: expect.any(String) });
    expect(run('--json')).toMatchObject({
      code: 2,
      stderr: '',
      stdout: expect.stringContaining('a command is missing'),
    });
  });
});
