// S7, S8: git worktrees as a user meets them. What hostile repositories do is tested in Rust (engine/tests/sandbox_git).
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { picture, write } from '../node/support.js';
import { git, type Place, paths, pictureButObjects, place, refusal, repository, text } from './support.js';

async function inRepository(ignored = ''): Promise<Place> {
  const all = await place();
  repository(all.resource, ignored);
  return all;
}

it('S7: its own branch; a commit records the changes there and merges them into the branch that was checked out', async () => {
  const { resource, worktree } = await inRepository();
  const first = git(resource, 'rev-parse', 'main');
  const sandbox = await worktree({ planId: 'plan-1' });
  expect(git(resource, 'branch', '--list', sandbox.branch)).toContain(sandbox.branch);
  expect(git(sandbox.path, 'rev-parse', '--abbrev-ref', 'HEAD')).toBe(sandbox.branch);
  write(sandbox.path, { 'a.txt': 'changed\n', 'new/x.txt': 'new\n' });
  const report = await sandbox.commit({ message: 'Change a\n\nand add x.' });
  expect(report).toMatchObject({ committed: true, branch: sandbox.branch, conflicts: [], heldBack: [] });
  expect(report.commit).toBe(git(resource, 'rev-parse', 'main'));
  expect(git(resource, 'log', '-1', '--format=%B', sandbox.branch)).toBe('Change a\n\nand add x.');
  expect(git(resource, 'rev-list', '--count', `${first}..main`)).not.toBe('0');
  expect(git(resource, 'status', '--porcelain')).toBe('');
  expect(text(resource, 'new/x.txt')).toBe('new\n');
});

it('S8: merge: branch touches nothing but its own branch', async () => {
  const { resource, worktree } = await inRepository();
  const sandbox = await worktree();
  write(sandbox.path, { 'a.txt': 'changed\n' });
  const before = { main: git(resource, 'rev-parse', 'main'), files: text(resource, 'a.txt') };
  const report = await sandbox.commit({ merge: 'branch' });
  expect(report).toMatchObject({ committed: true, branch: sandbox.branch });
  expect(report.commit).toBe(git(resource, 'rev-parse', sandbox.branch));
  expect({ main: git(resource, 'rev-parse', 'main'), files: text(resource, 'a.txt') }).toEqual(before);
  expect(git(resource, 'show', `${sandbox.branch}:a.txt`)).toBe('changed');
  // The branch is the user's from here on, and is named (S9).
  const remains = { paths: [], refs: [`refs/heads/${sandbox.branch}`], repositories: [] };
  expect(await sandbox.cleanup()).toEqual({ remains });
});

it('S7: a conflict lists the paths and leaves the repository as it was', async () => {
  const { resource, worktree } = await inRepository();
  const sandbox = await worktree();
  write(sandbox.path, { 'a.txt': 'ours\n' });
  write(resource, { 'a.txt': 'theirs\n' });
  git(resource, 'commit', '-q', '-am', 'theirs');
  const before = pictureButObjects(resource);
  const report = await sandbox.commit();
  expect(report).toMatchObject({ committed: false, changes: [] });
  expect(paths(report.conflicts)).toEqual(['a.txt']);
  expect(pictureButObjects(resource)).toEqual(before);
});

it('S8: local changes to a merged path are a conflict; to other paths they stay, staged or not', async () => {
  const { resource, worktree } = await inRepository();
  const sandbox = await worktree();
  write(sandbox.path, { 'a.txt': 'ours\n' });
  write(resource, { 'a.txt': 'local\n' });
  expect(paths((await sandbox.commit()).conflicts)).toEqual(['a.txt']);
  git(resource, 'checkout', '-q', 'a.txt');
  write(resource, { 'b.txt': 'staged\n', 'sub/c.txt': 'local\n' });
  git(resource, 'add', 'b.txt');
  expect(await sandbox.commit()).toMatchObject({ committed: true });
  // `git` trims what it gives: the first line begins with the letter either way.
  expect(
    git(resource, 'status', '--porcelain')
      .split('\n')
      .map((line) => line.trim()),
  ).toEqual(['M  b.txt', 'M sub/c.txt']);
  expect(text(resource, 'a.txt')).toBe('ours\n');
});

it('S8: a held index.lock gives BUSY', async () => {
  const { resource, worktree } = await inRepository();
  const sandbox = await worktree();
  write(sandbox.path, { 'a.txt': 'ours\n' });
  writeFileSync(join(resource, '.git/index.lock'), '');
  expect(await refusal(sandbox.commit())).toMatchObject({ code: 'BUSY', retryable: true });
  expect(text(resource, 'a.txt')).toBe('one\n');
});

it('S8: seeds are carried in and never committed back; carryChanges begins with the uncommitted state', async () => {
  const { resource, worktree } = await inRepository('node_modules/\n');
  write(resource, { 'node_modules/dep/index.js': 'x\n', 'a.txt': 'uncommitted\n', 'untracked.txt': 'u\n' });
  const plain = await worktree();
  expect(text(plain.path, 'a.txt')).toBe('one\n');
  expect(existsSync(join(plain.path, 'node_modules'))).toBe(false);
  const sandbox = await worktree({ seed: ['node_modules/', Buffer.from('./untracked.txt')], carryChanges: true });
  expect(text(sandbox.path, 'a.txt')).toBe('uncommitted\n');
  expect(text(sandbox.path, 'node_modules/dep/index.js')).toBe('x\n');
  expect(text(sandbox.path, 'untracked.txt')).toBe('u\n');
  write(sandbox.path, { 'node_modules/dep/index.js': 'patched\n', 'b.txt': 'changed\n' });
  const report = await sandbox.commit();
  expect(report.committed).toBe(true);
  expect(report.heldBack.map(({ path }) => path)).toEqual([expect.stringContaining('node_modules')]);
  expect(text(resource, 'node_modules/dep/index.js')).toBe('x\n');
  expect(text(resource, 'b.txt')).toBe('changed\n');
  expect(await refusal(worktree({ seed: ['missing'] }))).toMatchObject({ code: 'NOT_FOUND' });
});

it('S8: no hook and no filter of the repository runs', async () => {
  const { home, resource, worktree } = await inRepository();
  const fired = join(home, 'fired');
  for (const hook of ['pre-commit', 'post-checkout', 'post-commit', 'post-merge', 'reference-transaction']) {
    writeFileSync(join(resource, '.git/hooks', hook), `#!/bin/sh\necho ${hook} >> ${fired}\n`, { mode: 0o755 });
  }
  git(resource, 'commit', '-q', '--allow-empty', '-m', 'fires');
  expect(text(fired)).toContain('pre-commit');
  writeFileSync(fired, '');
  const sandbox = await worktree();
  write(sandbox.path, { 'a.txt': 'changed\n' });
  expect(await sandbox.commit()).toMatchObject({ committed: true });
  await sandbox.undoCommit();
  await sandbox.cleanup({ force: true });
  expect(text(fired)).toBe('');
});

it('S3: undoCommit() takes the merge back, from files, index and branch', async () => {
  const { resource, worktree } = await inRepository();
  const before = git(resource, 'rev-parse', 'main^{tree}');
  const sandbox = await worktree();
  write(sandbox.path, { 'a.txt': 'changed\n' });
  await sandbox.commit();
  expect(await sandbox.undoCommit()).toMatchObject({ restored: true });
  expect(git(resource, 'rev-parse', 'main^{tree}')).toBe(before);
  expect(git(resource, 'status', '--porcelain')).toBe('');
  expect(text(resource, 'a.txt')).toBe('one\n');
});

it('S9: cleaned up, nothing of it is left in the repository; re-running a plan never collides', async () => {
  const { resource, worktree } = await inRepository();
  const before = picture(join(resource, '.git', 'refs'));
  const two = [await worktree({ planId: 'plan' }), await worktree({ planId: 'plan' })];
  expect(new Set(two.map(({ branch }) => branch)).size).toBe(2);
  expect(new Set(two.map(({ path }) => path)).size).toBe(2);
  for (const sandbox of two) await sandbox.cleanup();
  expect(git(resource, 'worktree', 'list').split('\n')).toHaveLength(1);
  expect(git(resource, 'branch', '--list').split('\n')).toHaveLength(1);
  expect(Object.keys(picture(join(resource, '.git', 'refs')))).toEqual(Object.keys(before));
});

it('S8: what must be writable for git to work in it is listed; LFS pointers and submodules are counted', async () => {
  const { resource, worktree } = await inRepository();
  const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 12\n`;
  write(resource, { 'big.bin': pointer, '.gitattributes': '*.bin filter=lfs\n' });
  git(resource, 'add', '-A');
  git(resource, 'commit', '-q', '-m', 'lfs');
  const sandbox = await worktree();
  expect(sandbox.writablePaths).toEqual([sandbox.path, join(resource, '.git')]);
  expect(sandbox).toMatchObject({ lfsPointers: 1, lfsPaths: ['big.bin'], submodules: 0, submodulePaths: [] });
  expect(text(sandbox.path, 'big.bin')).toBe(pointer);
});

it('S8: a format that libgit2 cannot read is GIT_UNSUPPORTED and names copy_on_write', async () => {
  const { resource, worktree } = await place();
  git(resource, 'init', '-q', '--object-format=sha256');
  const error = await refusal(worktree());
  expect(error).toMatchObject({ code: 'GIT_UNSUPPORTED' });
  expect(error.message).toContain('copy_on_write');
});
