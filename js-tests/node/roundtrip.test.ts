// The main trip through the public API: checkpoint, damage, diff, exact rollback, undo (C1, C3, C4, C7, C8, C9).
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { picture, rejection, scene, UNKNOWN_ID, write } from './support.js';

/** What an agent does to a workspace in a bad turn. */
function damage(workspace: string): void {
  writeFileSync(join(workspace, 'a.txt'), 'changed\n');
  rmSync(join(workspace, 'sub'), { recursive: true });
  write(workspace, { 'new/file.txt': 'new\n' });
  chmodSync(join(workspace, 'run.sh'), 0o644);
  rmSync(join(workspace, 'link'));
  symlinkSync('elsewhere', join(workspace, 'link'));
  rmSync(join(workspace, 'kind'));
  mkdirSync(join(workspace, 'kind'));
}

async function prepared() {
  const made = await scene({
    'a.txt': 'one\n',
    'sub/b.txt': 'two\n',
    'sub/empty/': '',
    'run.sh': '#!/bin/sh\n',
    kind: 'a file\n',
  });
  chmodSync(join(made.workspace, 'run.sh'), 0o755);
  symlinkSync('a.txt', join(made.workspace, 'link'));
  return made;
}

describe('checkpoint and rollback', () => {
  it('C7: the tree is exactly as it was, its root included', async () => {
    const { workspace, manager } = await prepared();
    const before = picture(workspace);
    const root = statSync(workspace).ino;
    const checkpoint = await manager.createCheckpoint(workspace, 'plan-1', 'pre_batch', { turn: '7' });
    damage(workspace);
    expect(picture(workspace)).not.toEqual(before);

    const report = await manager.rollbackTo(checkpoint);
    expect(picture(workspace)).toEqual(before);
    expect(statSync(workspace).ino).toBe(root);
    expect(report).toMatchObject({
      restored: true,
      checkpointId: checkpoint.checkpointId,
      rootRecreated: false,
      kept: [],
      notRestorable: [],
    });
    expect(report.written).toBeGreaterThan(0);
    expect(report.deleted).toBeGreaterThan(0);
  });

  it('C8: undo, by report or by id, brings the state before the rollback back', async () => {
    const { workspace, manager } = await prepared();
    const checkpoint = await manager.createCheckpoint(workspace, 'plan-1', 'manual');
    damage(workspace);
    const damaged = picture(workspace);
    const report = await manager.rollbackTo(checkpoint.checkpointId);
    const undone = await manager.undo(report);
    expect(picture(workspace)).toEqual(damaged);
    await manager.undo(undone.undoCheckpointId ?? '');
    await manager.undo(report.undoCheckpointId ?? '');
    expect(picture(workspace)).toEqual(damaged);
    expect((await manager.listCheckpoints()).map(({ phase }) => phase)).toContain('pre_rollback');
  });

  it('C8: a dry run lists what the rollback does and changes nothing', async () => {
    const { workspace, manager } = await prepared();
    const checkpoint = await manager.createCheckpoint(workspace, 'plan-1', 'manual');
    damage(workspace);
    const damaged = picture(workspace);
    const dry = await manager.rollbackTo(checkpoint, { dryRun: true });
    expect(picture(workspace)).toEqual(damaged);
    expect(dry).toMatchObject({ restored: false });
    expect(dry.undoCheckpointId).toBeUndefined();
    const real = await manager.rollbackTo(checkpoint);
    expect(dry.actions.map(({ path, kind }) => `${kind} ${path}`)).toEqual(
      real.actions.map(({ path, kind }) => `${kind} ${path}`),
    );
    expect(dry.actions.length).toBeGreaterThan(5);
  });

  it('C5: a workspace that was deleted altogether is made anew', async () => {
    const { workspace, manager } = await prepared();
    const before = picture(workspace);
    const checkpoint = await manager.createCheckpoint(workspace, 'plan-1', 'manual');
    rmSync(workspace, { recursive: true });
    const report = await manager.rollbackTo(checkpoint);
    expect(report).toMatchObject({ restored: true, rootRecreated: true });
    expect(picture(workspace)).toEqual(before);
  });

  it('C5: a root that was replaced by another directory is refused, unless allowed', async () => {
    const { workspace, home, manager } = await prepared();
    const checkpoint = await manager.createCheckpoint(workspace, 'plan-1', 'manual');
    renameSync(workspace, join(home, 'moved away'));
    write(workspace, { mine: 'not to be touched\n' });
    expect(await rejection(manager.rollbackTo(checkpoint))).toMatchObject({ code: 'WORKSPACE_REPLACED' });
    expect(readFileSync(join(workspace, 'mine'), 'utf8')).toBe('not to be touched\n');
    const report = await manager.rollbackTo(checkpoint, { allowReplacedRoot: true });
    expect(report.restored).toBe(true);
    expect(existsSync(join(workspace, 'mine'))).toBe(false);
  });

  it('C8: paths restores a part; into restores elsewhere', async () => {
    const { workspace, home, manager } = await prepared();
    const before = picture(workspace);
    const checkpoint = await manager.createCheckpoint(workspace, 'plan-1', 'manual');
    damage(workspace);
    await manager.rollbackTo(checkpoint, { paths: ['a.txt', Buffer.from('sub')] });
    expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('one\n');
    expect(readFileSync(join(workspace, 'sub/b.txt'), 'utf8')).toBe('two\n');
    expect(existsSync(join(workspace, 'new/file.txt'))).toBe(true);
    const elsewhere = join(home, 'elsewhere');
    await manager.rollbackTo(checkpoint, { into: elsewhere });
    expect(picture(elsewhere)).toEqual(before);
  });

  it('a record of another workspace or sandbox is refused before anything is touched', async () => {
    const { workspace, home, manager } = await prepared();
    const checkpoint = await manager.createCheckpoint(workspace, 'plan-1', 'manual');
    damage(workspace);
    const damaged = picture(workspace);
    for (const other of [{ workspace: home }, { sandboxId: 'another' }]) {
      const error = await rejection(manager.rollbackTo({ ...checkpoint, ...other }));
      expect(error).toMatchObject({ name: 'TurnbackError', code: 'WORKSPACE_MISMATCH' });
    }
    expect(picture(workspace)).toEqual(damaged);
  });
});

describe('looking', () => {
  it('C9: diff tells every kind of difference, between two checkpoints and against now', async () => {
    const { workspace, manager } = await prepared();
    const first = await manager.createCheckpoint(workspace, 'plan-1', 'manual');
    damage(workspace);
    const kinds = async (to?: string) =>
      Object.fromEntries((await manager.diff(first.checkpointId, to)).map(({ path, kind }) => [path, kind]));
    const expected = {
      'a.txt': 'modified',
      sub: 'deleted',
      'sub/b.txt': 'deleted',
      'sub/empty': 'deleted',
      new: 'added',
      'new/file.txt': 'added',
      'run.sh': 'metadata',
      link: 'modified',
      kind: 'type_changed',
    };
    expect(await kinds()).toMatchObject(expected);
    expect(await kinds('now')).toMatchObject(expected);
    const second = await manager.createCheckpoint(workspace, 'plan-1', 'manual');
    expect(await kinds(second.checkpointId)).toMatchObject(expected);
    expect(await manager.diff(second.checkpointId)).toEqual([]);
  });

  it('C9: readFile and export give what was there', async () => {
    const { workspace, home, manager } = await prepared();
    const before = picture(workspace);
    const { checkpointId } = await manager.createCheckpoint(workspace, 'plan-1', 'manual');
    damage(workspace);
    expect((await manager.readFile(checkpointId, 'sub/b.txt')).toString()).toBe('two\n');
    expect((await manager.readFile(checkpointId, new Uint8Array(Buffer.from('a.txt')))).toString()).toBe('one\n');
    expect(await rejection(manager.readFile(checkpointId, 'nothing'))).toMatchObject({ code: 'NOT_FOUND' });
    const copy = join(home, 'copy');
    await manager.export(checkpointId, copy);
    expect(picture(copy)).toEqual(before);
  });

  it('C1: records are deeply frozen, and list oldest first with label, pin and bytes', async () => {
    const { workspace, manager } = await prepared();
    const first = await manager.createCheckpoint(
      workspace,
      'plan-1',
      'pre_execute',
      { a: '1', ['__proto__']: 'x' },
      { label: 'first' },
    );
    const second = await manager.createCheckpoint(workspace, 'plan-2', 'post_execute');
    expect(Object.isFrozen(first)).toBe(true);
    for (const part of [first.metadata, first.coverage, first.coverage.uncovered])
      expect(Object.isFrozen(part)).toBe(true);
    const made = first.createdAt.getTime();
    first.createdAt.setTime(0);
    expect(first.createdAt.getTime()).toBe(made);
    expect(Object.entries(first.metadata)).toEqual(
      [
        ['a', '1'],
        ['__proto__', 'x'],
      ].sort(),
    );

    await manager.pin(second.checkpointId, true);
    await manager.label(second.checkpointId, 'second');
    const listed = await manager.listCheckpoints(first.sandboxId);
    expect(listed.map(({ checkpointId, label, pinned }) => ({ checkpointId, label, pinned }))).toEqual([
      { checkpointId: first.checkpointId, label: 'first', pinned: false },
      { checkpointId: second.checkpointId, label: 'second', pinned: true },
    ]);
    expect(listed.every((one) => Object.isFrozen(one) && one.bytes >= 0)).toBe(true);
    await manager.label(second.checkpointId, null);
    await manager.pin(second.checkpointId, false);
    expect((await manager.listCheckpoints()).at(-1)).not.toHaveProperty('label');

    const stored = await manager.getCheckpoint(first.checkpointId);
    expect(JSON.parse(JSON.stringify(stored))).toEqual(JSON.parse(JSON.stringify(first)));
    expect(await manager.listCheckpoints('another sandbox')).toEqual([]);
    expect(await manager.sandboxIdOf(workspace)).toBe(first.sandboxId);
  });

  it('C9: verify, usage and coverage', async () => {
    const { workspace, manager } = await prepared();
    const { checkpointId } = await manager.createCheckpoint(workspace, 'plan-1', 'manual', {}, { exclude: ['/sub'] });
    expect(await manager.verify()).toEqual({ checked: 1, ok: true, damaged: [] });
    expect(await manager.verify(checkpointId)).toMatchObject({ ok: true });
    const usage = await manager.usage();
    expect(usage.storeBytes).toBeGreaterThan(0);
    expect(usage.checkpoints.map((one) => one.checkpointId)).toEqual([checkpointId]);
    const uncovered = [];
    for await (const one of manager.coverage(checkpointId)) uncovered.push(one);
    expect(uncovered).toEqual([{ path: 'sub', reason: 'excluded' }]);
  });

  it('an id that no checkpoint has: false, undefined, or NOT_FOUND', async () => {
    const { home, manager } = await prepared();
    expect(await manager.deleteCheckpoint(UNKNOWN_ID)).toBe(false);
    expect(await manager.getCheckpoint(UNKNOWN_ID)).toBeUndefined();
    const calls: Promise<unknown>[] = [
      manager.rollbackTo(UNKNOWN_ID),
      manager.undo(UNKNOWN_ID),
      manager.diff(UNKNOWN_ID),
      manager.readFile(UNKNOWN_ID, 'a'),
      manager.export(UNKNOWN_ID, join(home, 'x')),
      manager.verify(UNKNOWN_ID),
      manager.label(UNKNOWN_ID, 'x'),
      manager.pin(UNKNOWN_ID, true),
      manager.coverage(UNKNOWN_ID).next(),
    ];
    for (const error of await Promise.all(calls.map(rejection))) expect(error).toMatchObject({ code: 'NOT_FOUND' });
    expect(existsSync(join(home, 'x'))).toBe(false);
  });

  it('C9: a deleted checkpoint is gone', async () => {
    const { workspace, manager } = await prepared();
    const { checkpointId, snapshotPath } = await manager.createCheckpoint(workspace, 'plan-1', 'manual');
    expect(existsSync(snapshotPath)).toBe(true);
    expect(await manager.deleteCheckpoint(checkpointId)).toBe(true);
    expect(await manager.getCheckpoint(checkpointId)).toBeUndefined();
    expect(existsSync(snapshotPath)).toBe(false);
  });
});

describe('names', () => {
  it('F36: bytes that are not UTF-8 come as escaped text with the bytes beside it, and go in as bytes', async () => {
    const { workspace, manager } = await scene({ plain: 'x' });
    const { checkpointId } = await manager.createCheckpoint(workspace, 'plan-1', 'manual');
    const name = Buffer.from([0x61, 0xff, 0x0a, 0x5c]);
    writeFileSync(Buffer.concat([Buffer.from(`${workspace}/`), name]), 'odd\n');
    writeFileSync(join(workspace, 'line\nbreak \\ 报告'), 'odd too\n');
    const added = (await manager.diff(checkpointId)).filter(({ kind }) => kind === 'added');
    expect(added).toHaveLength(2);
    const odd = added.find(({ pathBytes }) => pathBytes !== undefined);
    expect(odd?.path).toBe('a\\xff\\n\\\\');
    expect(Buffer.from(odd?.pathBytes ?? [])).toEqual(name);
    expect(added.find(({ pathBytes }) => pathBytes === undefined)?.path).toBe('line\nbreak \\ 报告');

    const second = await manager.createCheckpoint(workspace, 'plan-1', 'manual');
    expect((await manager.readFile(second.checkpointId, name)).toString()).toBe('odd\n');
    expect((await manager.readFile(second.checkpointId, 'line\nbreak \\ 报告')).toString()).toBe('odd too\n');
  });

  it('C5: a relative path is resolved by the working directory at the call', async () => {
    const { home, workspace, manager } = await scene();
    const at = process.cwd();
    try {
      process.chdir(home);
      const started = manager.createCheckpoint('work', 'plan-1', 'manual');
      process.chdir('/');
      expect((await started).workspace).toBe(workspace);
    } finally {
      process.chdir(at);
    }
  });
});
