// What the tests of the package `turnback` share: temporary directories, a picture of a tree, and the command line.
import { spawnSync } from 'node:child_process';
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CheckpointManager } from 'turnback';
import { onTestFinished } from 'vitest';

/** The folder of the installed package. */
export const PACKAGE = dirname(createRequire(import.meta.url).resolve('turnback/package.json'));
const BIN = join(PACKAGE, 'bin', 'turnback.js');

/** A directory that goes with the test. */
export function temporary(): string {
  const directory = mkdtempSync(join(tmpdir(), 'turnback-test-'));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Writes files below a directory; a name that ends in a slash is an empty directory. */
export function write(directory: string, files: Record<string, string | Uint8Array>): string {
  mkdirSync(directory, { recursive: true });
  for (const [name, content] of Object.entries(files)) {
    const path = join(directory, name);
    mkdirSync(name.endsWith('/') ? path : dirname(path), { recursive: true });
    if (!name.endsWith('/')) writeFileSync(path, content);
  }
  return directory;
}

/** A workspace and a store in a directory of their own, and a manager that is closed with the test. */
export async function scene(files: Record<string, string | Uint8Array> = { 'a.txt': 'one\n', 'sub/b.txt': 'two\n' }) {
  const home = temporary();
  const workspace = write(join(home, 'work'), files);
  const store = join(home, 'store');
  const manager = await CheckpointManager.open({ store });
  onTestFinished(() => manager.close());
  return { home, workspace, store, manager };
}

/** Every path below a directory with what can be seen of it by `lstat` and by reading. */
export function picture(root: string): Record<string, string> {
  const seen: Record<string, string> = {};
  const look = (path: string, name: string) => {
    const { mode, uid, gid, mtimeNs, nlink } = lstatSync(path, { bigint: true });
    const kind = lstatSync(path);
    const links = kind.isDirectory() ? '' : ` links=${nlink}`;
    const content = kind.isFile()
      ? ` ${readFileSync(path).toString('base64')}`
      : kind.isSymbolicLink()
        ? ` -> ${readlinkSync(path)}`
        : '';
    seen[name] = `${mode.toString(8)} ${uid}:${gid} ${mtimeNs}${links}${content}`;
    if (kind.isDirectory()) for (const entry of readdirSync(path)) look(join(path, entry), `${name}/${entry}`);
  };
  look(root, '.');
  return seen;
}

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the command line as a shell would. */
export function turnback(
  args: string[],
  options: { cwd?: string; env?: Record<string, string>; input?: string } = {},
): Ran {
  const { TURNBACK_STORE: _store, ...rest } = process.env;
  const done = spawnSync(process.execPath, [BIN, ...args], {
    encoding: 'utf8',
    cwd: options.cwd,
    input: options.input,
    env: { ...rest, ...options.env },
    maxBuffer: 1 << 28,
  });
  if (done.error) throw done.error;
  return { code: done.status, stdout: done.stdout, stderr: done.stderr };
}

/** Runs a script in a Node of its own, as an ES module, and gives what it prints. */
export function node(
  script: string,
  options: { cwd?: string; env?: Record<string, string>; flags?: string[] } = {},
): Ran {
  const done = spawnSync(process.execPath, [...(options.flags ?? []), '--input-type=module', '-e', script], {
    encoding: 'utf8',
    cwd: options.cwd ?? dirname(new URL(import.meta.url).pathname),
    env: { ...process.env, ...options.env },
  });
  if (done.error) throw done.error;
  return { code: done.status, stdout: done.stdout, stderr: done.stderr };
}

/** What a promise rejects with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('the promise was not rejected');
}

/** An id that is well formed and that no checkpoint has. */
export const UNKNOWN_ID = '00000000000000000000000000';

/** Whether the tests run as root, for whom no file is unreadable. */
export const ROOT = process.getuid?.() === 0;
