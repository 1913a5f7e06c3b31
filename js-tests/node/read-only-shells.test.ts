// G14: what is called read-only is run by the real shells of this machine: the files around it stay as they were.
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { vectors } from '../wasm/vectors.js';
import { picture, temporary, write } from './support.js';

/** Long enough for what ends by itself; some follow a file, or look through the whole machine. In seconds. */
const MOST = '1';

const FILES = {
  'package.json': '{"name":"it","version":"1.0.0"}\n',
  'README.md': '# It\n\nTODO: more\n',
  'src/index.ts': 'export const a = 1;\n',
  'src/a.ts': 'import { a } from "./index";\n',
  'src/b.ts': 'function foo() {}\n',
  'my folder/x y.txt': 'x\n',
  '-n': 'a name that looks like an option\n',
  'log.txt': 'error: one\nwarning: two\n',
  'data.csv': 'a,b\n1,2\n',
};

function shells(): string[] {
  const there = (path: string) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  };
  return ['/bin/bash', '/bin/dash', '/bin/zsh', '/bin/busybox'].filter(there);
}

it.each(shells())('%s changes nothing by any of them', { timeout: 300_000 }, (shell) => {
  const home = temporary();
  const workspace = write(join(home, 'work'), FILES);
  write(join(home, 'tmp'), {});
  const before = picture(home);
  const args = shell.endsWith('busybox') ? ['sh', '-c'] : ['-c'];
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: join(home, 'tmp'), LANG: 'C' };
  const changing: string[] = [];
  let ended = 0;
  for (const command of vectors<{ readOnly: string[] }>('read-only.json').readOnly) {
    // It ends the whole group of processes.
    const ran = spawnSync('timeout', ['--signal=KILL', MOST, shell, ...args, command], {
      cwd: workspace,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      maxBuffer: 1 << 26,
    });
    if (ran.status === 0) ended += 1;
    try {
      expect(picture(home)).toEqual(before);
    } catch {
      changing.push(command);
    }
  }
  expect(changing).toEqual([]);
  // Otherwise this says nothing.
  expect(ended).toBeGreaterThan(100);
});
