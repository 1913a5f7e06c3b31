// What the tests of sandboxes share: a resource, a store, and the sandboxes between them.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AnySandbox,
  CheckpointManager,
  type CopyOnWriteSandbox,
  createSandbox,
  type GitWorktreeSandbox,
  isTurnbackError,
  type SandboxOptions,
  type TurnbackError,
} from 'turnback';
import { onTestFinished } from 'vitest';
import { picture, rejection, temporary, write } from '../node/support.js';

export const FILES = { 'a.txt': 'one\n', 'b.txt': 'two\n', 'sub/c.txt': 'three\n' };

/** Runs git as nobody in particular: no configuration of the machine or the user counts. */
export function git(directory: string, ...args: string[]): string {
  const identity = { NAME: 'Test', EMAIL: 'test@example.org' };
  const who = Object.entries(identity).flatMap(([key, value]) => [
    [`GIT_AUTHOR_${key}`, value],
    [`GIT_COMMITTER_${key}`, value],
  ]);
  const env = {
    PATH: process.env.PATH,
    HOME: '/nonexistent',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    ...Object.fromEntries(who),
  };
  return execFileSync('git', args, { cwd: directory, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim();
}

/** Makes a directory a repository with one commit of all that is in it. */
export function repository(directory: string, ignored = ''): string {
  git(directory, 'init', '-q', '-b', 'main');
  if (ignored !== '') write(directory, { '.gitignore': ignored });
  git(directory, 'add', '-A');
  git(directory, 'commit', '-q', '-m', 'first');
  return directory;
}

export interface Place {
  home: string;
  resource: string;
  store: string;
  manager: CheckpointManager;
  /** Makes a sandbox of the resource in the store. */
  create(options?: Partial<SandboxOptions>): Promise<AnySandbox>;
  copy(options?: Partial<SandboxOptions>): Promise<CopyOnWriteSandbox>;
  worktree(options?: Partial<SandboxOptions>): Promise<GitWorktreeSandbox>;
}

/** A resource and a store side by side. */
export async function place(home = temporary(), files: Record<string, string | Uint8Array> = FILES): Promise<Place> {
  const resource = write(join(home, 'work'), files);
  const store = join(home, 'store');
  const manager = await CheckpointManager.open({ store, durability: 'process' });
  onTestFinished(() => manager.close());
  const all = { resource, checkpoints: manager };
  return {
    home,
    resource,
    store,
    manager,
    create: (options) => createSandbox({ ...all, ...options }),
    copy: (options) => createSandbox({ ...all, ...options, strategy: 'copy_on_write' }),
    worktree: (options) => createSandbox({ ...all, ...options, strategy: 'git_worktree' }),
  };
}

export const text = (...path: string[]): string | undefined => {
  const full = join(...path);
  return existsSync(full) ? readFileSync(full, 'utf8') : undefined;
};

/**
 * Everything below a resource, but for git's objects, which only ever come: those of a commit that was not made are not reachable.
 */
export function pictureButObjects(resource: string): Record<string, string> {
  const all = Object.entries(picture(resource));
  return Object.fromEntries(all.filter(([name]) => name !== './.git' && !name.startsWith('./.git/objects')));
}

/** What a promise of the package rejects with. */
export async function refusal(promise: Promise<unknown>): Promise<TurnbackError> {
  const error = await rejection(promise);
  if (!isTurnbackError(error)) throw error;
  return error;
}

/** What is changed, in words. */
export const changed = (report: readonly { path: string; kind: string }[]): string[] =>
  report.map(({ path, kind }) => `${kind} ${path}`).sort();

export const paths = (all: readonly { path: string }[]): string[] => all.map(({ path }) => path).sort();

/** Everything frozen, all the way down. */
export function isDeeplyFrozen(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen);
}

export type { AnySandbox };
