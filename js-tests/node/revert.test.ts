// C15: taking a turn back and keeping later edits, with conflicts told and never overwritten unasked.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointManager } from 'turnback';
import { describe, expect, it } from 'vitest';
import { picture, rejection, scene, UNKNOWN_ID, write } from './support.js';

/** A turn that edits, adds and deletes, between two checkpoints. */
async function turn() {
  const around = await scene({ 'edited.txt': 'one\n', 'deleted.txt': 'two\n', 'mine.txt': 'three\n' });
  const { manager, workspace } = around;
  const from = (await manager.createCheckpoint(workspace, 'p', 'pre_batch')).checkpointId;
  writeFileSync(join(workspace, 'edited.txt'), 'by the agent\n');
  rmSync(join(workspace, 'deleted.txt'));
  write(workspace, { 'added/new.txt': 'by the agent\n' });
  const to = (await manager.createCheckpoint(workspace, 'p', 'pre_batch')).checkpointId;
  const read = (name: string) => readFileSync(join(workspace, name), 'utf8');
  return { ...around, from, to, read };
}

describe('C15: revert', () => {
  it('takes the turn back, keeps what was edited since, and can be undone and redone', async () => {
    const { manager, workspace, from, to, read } = await turn();
    write(workspace, { 'mine.txt': 'mine\n', 'later.txt': 'mine\n' });
    const before = picture(workspace);
    const planned = await manager.revert(from, to, { dryRun: true });
    expect(picture(workspace)).toEqual(before);
    expect(planned).toMatchObject({ restored: false, checkpointId: from, conflicts: [], written: 0, deleted: 0 });
    const kinds = Object.fromEntries(planned.actions.map(({ path, kind }) => [path, kind]));
    expect(kinds).toEqual({
      added: 'added',
      'added/new.txt': 'added',
      'deleted.txt': 'deleted',
      'edited.txt': 'modified',
    });

    const report = await manager.revert(from, to);
    expect(report).toMatchObject({ restored: true, conflicts: [], actions: planned.actions, journaled: true });
    expect([read('edited.txt'), read('deleted.txt'), read('mine.txt'), read('later.txt')]).toEqual([
      'one\n',
      'two\n',
      'mine\n',
      'mine\n',
    ]);
    expect(existsSync(join(workspace, 'added'))).toBe(false);
    await manager.undo(report);
    expect(picture(workspace)).toEqual(before);

    await manager.revert(from, to);
    const again = await manager.revert(to, from);
    expect(again.restored).toBe(true);
    expect(read('edited.txt')).toBe('by the agent\n');
    expect(existsSync(join(workspace, 'deleted.txt'))).toBe(false);
  });

  it('by default conflicts keep everything as it is, and no checkpoint is made', async () => {
    const { manager, workspace, from, to } = await turn();
    writeFileSync(join(workspace, 'edited.txt'), 'mine again\n');
    const before = picture(workspace);
    const many = (await manager.listCheckpoints()).length;
    const report = await manager.revert(from, to);
    expect(report).toMatchObject({ restored: false, written: 0, deleted: 0, actions: [] });
    expect(report.undoCheckpointId).toBeUndefined();
    expect(report.conflicts).toEqual([{ path: 'edited.txt', ours: 'a file of 11 bytes', theirs: 'a file of 4 bytes' }]);
    for (const part of [report, report.conflicts, report.conflicts[0]]) expect(Object.isFrozen(part)).toBe(true);
    expect(picture(workspace)).toEqual(before);
    expect(await manager.listCheckpoints()).toHaveLength(many);
  });

  it.each([
    ['ours', 'mine again\n'],
    ['theirs', 'one\n'],
  ] as const)('onConflict: %s', async (onConflict, content) => {
    const { manager, workspace, from, to, read } = await turn();
    writeFileSync(join(workspace, 'edited.txt'), 'mine again\n');
    const before = picture(workspace);
    const report = await manager.revert(from, to, { onConflict });
    expect(report).toMatchObject({ restored: true, conflicts: [{ path: 'edited.txt' }] });
    expect(read('edited.txt')).toBe(content);
    expect(read('deleted.txt')).toBe('two\n');
    await manager.undo(report);
    expect(picture(workspace)).toEqual(before);
  });

  it('paths takes a part back; safety: false takes no checkpoint', async () => {
    const { manager, from, to, read, workspace } = await turn();
    const many = (await manager.listCheckpoints()).length;
    const report = await manager.revert(from, to, { paths: ['deleted.txt'], safety: false });
    expect(report.undoCheckpointId).toBeUndefined();
    expect(await manager.listCheckpoints()).toHaveLength(many);
    expect(read('deleted.txt')).toBe('two\n');
    expect(read('edited.txt')).toBe('by the agent\n');
    expect(existsSync(join(workspace, 'added/new.txt'))).toBe(true);
  });

  it('a rollback has no conflicts', async () => {
    const { manager, from } = await turn();
    expect((await manager.rollbackTo(from)).conflicts).toEqual([]);
  });

  it('two workspaces, unknown ids, and a workspace that is gone', async () => {
    const { manager, workspace, home, from, to } = await turn();
    const other = write(join(home, 'other'), { x: 'y' });
    const foreign = (await manager.createCheckpoint(other, 'p', 'manual')).checkpointId;
    expect(await rejection(manager.revert(from, foreign))).toMatchObject({ code: 'WORKSPACE_MISMATCH' });
    expect(await rejection(manager.revert(from, UNKNOWN_ID))).toMatchObject({ code: 'NOT_FOUND' });
    expect(await rejection(manager.revert(UNKNOWN_ID, to))).toMatchObject({ code: 'NOT_FOUND' });
    rmSync(workspace, { recursive: true });
    expect(await rejection(manager.revert(from, to))).toMatchObject({ code: 'NOT_FOUND' });
    mkdirSync(workspace);
    expect(await rejection(manager.revert(from, to))).toMatchObject({ code: 'WORKSPACE_REPLACED' });
  });

  it('a signal that has fired starts nothing; C10: a listener may call the manager again', async () => {
    const { manager, workspace, from, to } = await turn();
    const before = picture(workspace);
    const signal = AbortSignal.abort('no');
    expect(await rejection(manager.revert(from, to, { signal }))).toMatchObject({ code: 'ABORTED', cause: 'no' });
    expect(picture(workspace)).toEqual(before);
    const inner: Promise<unknown>[] = [];
    await manager.revert(from, to, { onProgress: () => inner.push(manager.usage(), manager.pending()) });
    await Promise.all(inner);
  });

  it('two sessions in one directory: another process takes the other one’s turn back', async () => {
    const { manager, workspace, store, from, to, read } = await turn();
    write(workspace, { 'session-b.txt': 'b\n' });
    await manager.close();
    await using other = await CheckpointManager.open({ store });
    expect((await other.revert(from, to)).restored).toBe(true);
    expect([read('edited.txt'), read('session-b.txt')]).toEqual(['one\n', 'b\n']);
  });
});
