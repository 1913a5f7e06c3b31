// C12, C17: the event loop never touches the store, whose file system may hang. Told by the system calls, not by time.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporary, write } from '../node/support.js';

it('a batch looks for the pause, and makes its checkpoint, on threads of the manager only', (context) => {
  const home = temporary();
  const [store, workspace, trace] = [
    join(home, 'store'),
    write(join(home, 'w'), { 'a.txt': 'a' }),
    join(home, 'trace'),
  ];
  const agent = new URL('./one-batch.mjs', import.meta.url).pathname;
  const args = ['-f', '-qq', '-e', 'trace=%file', '-o', trace, process.execPath, agent, store, workspace];
  const ran = spawnSync('strace', args, { encoding: 'utf8' });
  if (ran.error || /ptrace/.test(ran.stderr)) return context.skip('strace is not possible here');
  expect(ran.stdout).toBe('created\nskipped\n');
  const calls = readFileSync(trace, 'utf8')
    .split('\n')
    .map((line) => /^(\d+) +(.*)$/.exec(line))
    .flatMap((found) => (found ? [{ thread: found[1], call: found[2] ?? '' }] : []));
  const main = calls[0]?.thread;
  const at = (mark: string) => calls.findIndex(({ call }) => call.includes(mark));
  const [from, to] = [at('/turnback-from'), at('/turnback-to')];
  expect(from).toBeGreaterThan(0);
  expect(to).toBeGreaterThan(from);
  const inStore = calls.slice(from, to).filter(({ call }) => call.includes(store));
  expect(inStore.filter(({ call }) => call.includes(join(store, 'paused'))).length).toBeGreaterThan(0);
  expect(inStore.filter(({ thread }) => thread === main)).toEqual([]);
});
