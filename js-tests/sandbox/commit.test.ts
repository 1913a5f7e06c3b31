// S6: conflicts, what is held back, texts that merge, and taking a commit back, as a user meets them.
import { chmodSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createGuard, localDriver } from 'turnback';
import { describe, expect, it } from 'vitest';
import { write } from '../node/support.js';
import { changed, isDeeplyFrozen, paths, place, refusal, repository, text } from './support.js';

const LINES = {
  top: '1\n2\n3\n4\n5\n6\n7\n8\n9\n',
  ours: 'one\n2\n3\n4\n5\n6\n7\n8\n9\n',
  theirs: '1\n2\n3\n4\n5\n6\n7\n8\nnine\n',
};

describe('conflicts (S6)', () => {
  it.each([
    ['ours', 'ours\n'],
    ['theirs', 'theirs\n'],
  ] as const)('onConflict: %s', async (onConflict, expected) => {
    const { resource, copy } = await place();
    const sandbox = await copy();
    write(sandbox.path, { 'a.txt': 'ours\n', 'b.txt': 'fine\n' });
    write(resource, { 'a.txt': 'theirs\n' });
    const report = await sandbox.commit({ onConflict });
    expect(report.committed).toBe(true);
    expect(paths(report.conflicts)).toEqual(['a.txt']);
    expect(text(resource, 'a.txt')).toBe(expected);
    expect(text(resource, 'b.txt')).toBe('fine\n');
  });

  it('says what each side did, and the next commit succeeds once they agree', async () => {
    const { resource, copy } = await place();
    const sandbox = await copy();
    rmSync(join(sandbox.path, 'a.txt'));
    write(sandbox.path, { 'b.txt': 'ours, longer\n' });
    write(resource, { 'a.txt': 'theirs\n', 'b.txt': 'theirs\n' });
    const { committed, conflicts, changes } = await sandbox.commit();
    expect({ committed, changes }).toEqual({ committed: false, changes: [] });
    expect(conflicts.map(({ path }) => path)).toEqual(['a.txt', 'b.txt']);
    for (const { ours, theirs } of conflicts) expect(ours).not.toBe(theirs);
    expect(isDeeplyFrozen(conflicts)).toBe(true);
    write(sandbox.path, { 'a.txt': 'theirs\n', 'b.txt': 'theirs\n' });
    expect(await sandbox.commit()).toMatchObject({ committed: true, conflicts: [] });
    expect(text(resource, 'a.txt')).toBe('theirs\n');
  });

  it('textMerge takes both sides of a text whose changed lines do not meet, and only when it is asked for', async () => {
    const { resource, copy } = await place(undefined, { 'text.txt': LINES.top });
    const sandbox = await copy();
    write(sandbox.path, { 'text.txt': LINES.ours });
    write(resource, { 'text.txt': LINES.theirs });
    expect(await sandbox.commit()).toMatchObject({ committed: false });
    expect(text(resource, 'text.txt')).toBe(LINES.theirs);
    expect(await sandbox.commit({ textMerge: true })).toMatchObject({ committed: true, conflicts: [] });
    expect(text(resource, 'text.txt')).toBe('one\n2\n3\n4\n5\n6\n7\n8\nnine\n');
  });

  it('textMerge leaves a conflict where the lines meet', async () => {
    const { resource, copy } = await place(undefined, { 'text.txt': LINES.top });
    const sandbox = await copy();
    write(sandbox.path, { 'text.txt': LINES.ours });
    write(resource, { 'text.txt': LINES.top.replace('1', 'uno') });
    const report = await sandbox.commit({ textMerge: true });
    expect(report).toMatchObject({ committed: false });
    expect(paths(report.conflicts)).toEqual(['text.txt']);
  });
});

describe('what is held back (S6)', () => {
  it('files that make the host run something stay in the sandbox, are listed, and count as unsaved', async () => {
    const { resource, copy } = await place();
    const sandbox = await copy();
    write(sandbox.path, { '.envrc': 'rm -rf ~\n', '.vscode/tasks.json': '{}\n', 'a.txt': 'fine\n' });
    const report = await sandbox.commit();
    expect(report.committed).toBe(true);
    expect(report.heldBack.map(({ path, reason }) => `${reason} ${path}`).sort()).toEqual([
      'trusted .envrc',
      'trusted .vscode',
    ]);
    expect(isDeeplyFrozen(report.heldBack)).toBe(true);
    expect(text(resource, 'a.txt')).toBe('fine\n');
    expect(existsSync(join(resource, '.envrc'))).toBe(false);
    expect(await refusal(sandbox.cleanup())).toMatchObject({ code: 'UNSAVED_WORK' });
    const allowed = await sandbox.commit({ allowTrusted: true });
    expect(allowed).toMatchObject({ committed: true, heldBack: [] });
    expect(text(resource, '.envrc')).toBe('rm -rf ~\n');
    expect(await sandbox.cleanup()).toEqual({});
  });

  it('.git is held back; allowGit carries it if the resource’s is as it was', async () => {
    const { resource, copy } = await place();
    repository(resource);
    const sandbox = await copy();
    write(sandbox.path, { '.git/hooks/post-checkout': '#!/bin/sh\n', 'a.txt': 'fine\n' });
    const report = await sandbox.commit();
    expect(report.heldBack).toEqual([expect.objectContaining({ reason: 'git_metadata' })]);
    expect(existsSync(join(resource, '.git/hooks/post-checkout'))).toBe(false);
    expect(await sandbox.commit({ allowGit: true })).toMatchObject({ committed: true, heldBack: [] });
    expect(text(resource, '.git/hooks/post-checkout')).toBe('#!/bin/sh\n');
  });

  it('set-id bits are stripped, and that is said', async () => {
    const { resource, copy } = await place();
    const sandbox = await copy();
    write(sandbox.path, { 'tool.sh': 'x\n' });
    chmodSync(join(sandbox.path, 'tool.sh'), 0o4755);
    const report = await sandbox.commit();
    expect(report.heldBack).toEqual([{ path: 'tool.sh', reason: 'set_id' }]);
    expect(statSync(join(resource, 'tool.sh')).mode & 0o7777).toBe(0o755);
  });
});

describe('taking a commit back (S3)', () => {
  it('what was edited since is a conflict, and nothing is written', async () => {
    const { resource, copy } = await place();
    const sandbox = await copy();
    write(sandbox.path, { 'a.txt': 'changed\n', 'b.txt': 'changed\n' });
    await sandbox.commit();
    write(resource, { 'a.txt': 'edited since\n' });
    const report = await sandbox.undoCommit();
    expect(report.restored).toBe(false);
    expect(paths(report.conflicts)).toEqual(['a.txt']);
    expect(text(resource, 'b.txt')).toBe('changed\n');
    expect(sandbox.status).toBe('COMMITTED');
  });

  it('the same work can be committed again; one commit is undone once', async () => {
    const { resource, copy } = await place();
    const sandbox = await copy();
    write(sandbox.path, { 'a.txt': 'changed\n' });
    await sandbox.commit();
    await sandbox.undoCommit();
    expect(await refusal(sandbox.undoCommit())).toMatchObject({ code: 'NOT_UNDOABLE' });
    expect(changed((await sandbox.commit()).changes)).toEqual(['modified a.txt']);
    expect(text(resource, 'a.txt')).toBe('changed\n');
  });

  it('G8: a guard of the resource counts on no checkpoint from before; a commit is no restore', async () => {
    const { resource, copy, manager } = await place();
    const sandbox = await copy();
    const guard = createGuard({ driver: localDriver(manager, resource), enabled: () => true });
    const turn = { sandboxId: resource, turnId: 'turn' };
    expect(await guard.beforeBatch(turn)).toMatchObject({ outcome: 'created' });
    write(sandbox.path, { 'a.txt': 'changed\n' });
    await sandbox.commit();
    expect(await guard.beforeBatch(turn)).toMatchObject({ outcome: 'already_covered' });
    await sandbox.undoCommit();
    expect(await guard.beforeBatch(turn)).toMatchObject({ outcome: 'created', late: true });
  });

  it('the checkpoint from before the commit is there, and brings the resource back', async () => {
    const { resource, copy, manager } = await place();
    const sandbox = await copy({ planId: 'plan-1' });
    write(sandbox.path, { 'a.txt': 'changed\n' });
    const { preApplyCheckpointId = '' } = await sandbox.commit();
    expect(await manager.getCheckpoint(preApplyCheckpointId)).toMatchObject({
      phase: 'pre_apply',
      planId: 'plan-1',
      workspace: resource,
    });
    await manager.rollbackTo(preApplyCheckpointId);
    expect(text(resource, 'a.txt')).toBe('one\n');
  });
});

it('C7: a sandbox’s own .git is restored exactly; that of a directory is kept, and each can be asked for', async () => {
  const { resource, copy, manager } = await place();
  repository(resource);
  const sandbox = await copy();
  const inPlace = await manager.createCheckpoint(resource, 'plan', 'manual');
  const inSandbox = await manager.createCheckpoint(sandbox, 'plan', 'manual');
  const description = (directory: string) => text(directory, '.git', 'description');
  for (const directory of [resource, sandbox.path]) write(directory, { '.git/description': 'changed\n' });
  expect((await manager.rollbackTo(inPlace)).kept).toMatchObject([{ reason: 'git_metadata' }]);
  expect(description(resource)).toBe('changed\n');
  await manager.rollbackTo(inSandbox, { git: 'keep' });
  expect(description(sandbox.path)).toBe('changed\n');
  await manager.rollbackTo(inSandbox);
  expect(description(sandbox.path)).not.toBe('changed\n');
  await manager.rollbackTo(inPlace, { git: 'exact' });
  expect(description(resource)).toBe(description(sandbox.path));
});

it('paths that are no text are escaped, with their bytes beside them (C1)', async () => {
  const { resource, copy } = await place();
  const sandbox = await copy();
  const name = Buffer.from([0x66, 0xff, 0x2e]);
  writeFileSync(Buffer.concat([Buffer.from(`${sandbox.path}/`), name]), 'odd\n');
  const [change] = (await sandbox.commit()).changes.filter(({ kind, path }) => kind === 'added' && path !== '');
  expect(Buffer.from(change?.pathBytes ?? [])).toEqual(name);
  expect(readFileSync(Buffer.concat([Buffer.from(`${resource}/`), name]), 'utf8')).toBe('odd\n');
});

it('a call that is cancelled rejects with its reason, and the sandbox still works', async () => {
  const { resource, copy } = await place();
  const sandbox = await copy();
  write(sandbox.path, { 'a.txt': 'changed\n' });
  const reason = new Error('the user left');
  for (const call of ['commit', 'rollback', 'changes', 'cleanup'] as const) {
    const error = await refusal(sandbox[call]({ signal: AbortSignal.abort(reason) }));
    expect(error).toMatchObject({ code: 'ABORTED', cause: reason });
  }
  expect(text(resource, 'a.txt')).toBe('one\n');
  expect(await sandbox.commit()).toMatchObject({ committed: true });
});

it('progress is told, and a sandbox that is not wanted any more while it is made leaves nothing (S5, C12)', async () => {
  const files = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`d${at % 30}/f${at}.txt`, `${at}\n`]));
  const { create, home } = await place(undefined, files);
  const stop = new AbortController();
  const seen: string[] = [];
  const making = create({
    signal: stop.signal,
    onProgress: ({ phase }) => {
      seen.push(phase);
      stop.abort();
    },
  });
  expect(await refusal(making)).toMatchObject({ code: 'ABORTED' });
  expect(seen).not.toEqual([]);
  // The engine's work ends at its next system call.
  await expect.poll(() => existsSync(join(home, 'store-sandboxes')), { timeout: 60_000 }).toBe(false);
});
