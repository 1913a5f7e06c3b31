// A directory, a store, and `turnback sandbox` as a user types it there.
import { join } from 'node:path';
import { temporary, turnback, write } from './support.js';

export function prepared(files: Record<string, string> = { 'a.txt': 'one\ntwo\nthree\n', 'sub/b.txt': 'two\n' }) {
  const home = temporary();
  const workspace = write(join(home, 'work'), files);
  const env = { TURNBACK_STORE: join(home, 'store') };
  const run = (...args: string[]) => turnback(['sandbox', ...args], { cwd: workspace, env });
  const json = (...args: string[]) => JSON.parse(run(...args, '--json').stdout);
  const made = (...args: string[]) => {
    const id = run('create', '--quiet', ...args).stdout.trim();
    return { id, path: run('path', id).stdout.trim() };
  };
  return { home, workspace, env, run, json, made };
}
