// Item 8 of the sandboxes: `turnback run` with somebody at a terminal, who reads, answers, or leaves (S4, S10).
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { temporary, turnback, write } from './support.js';
import { atTerminal, needsTerminal } from './terminal.js';

beforeEach(needsTerminal);

const ASKED = 'view again: ';

function prepared(more: Record<string, string> = {}) {
  const home = temporary();
  const workspace = write(join(home, 'work'), { 'a.txt': 'one\ntwo\n' });
  const env = { TURNBACK_STORE: join(home, 'store'), PAGER: 'cat', ...more };
  const any = (...args: string[]) => turnback(args, { cwd: workspace, env });
  const run = (...args: string[]) => atTerminal(['run', ...args], { cwd: workspace, env });
  const sandboxes = () => JSON.parse(any('sandbox', 'list', '--json').stdout).sandboxes;
  const text = () => readFileSync(join(workspace, 'a.txt'), 'utf8');
  return { home, workspace, env, any, run, sandboxes, text };
}

/** A pager that says what it got, and ends with an interrupt. */
const PAGER = `
import { text } from 'node:stream/consumers';
process.once('SIGINT', () => process.exit(console.log('the pager was interrupted')));
const lines = (await text(process.stdin)).split('\\n');
console.log('paged to', lines.at(-2).replace(/\\x1b\\[\\d*m/g, ''));
setInterval(() => {}, 1000);
`;

const CHANGE = ['--', 'sh', '-c', 'echo told; echo 2 >a.txt'];

describe('the question', () => {
  it('comes after the paths and the texts, and yes commits', async () => {
    const { workspace, run, sandboxes, text } = prepared();
    const terminal = run(...CHANGE);
    await terminal.until(ASKED);
    expect(text()).toBe('one\ntwo\n');
    terminal.type('y\r');
    expect(await terminal.ended).toBe(0);
    const shown = terminal.shown();
    expect(shown).toContain(
      'told\nM a.txt\n1 modified (M)\n\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1 @@\n-one\n-two\n+2\n',
    );
    expect(shown).toContain(`1 path changed: 1 modified (M). Commit to ${workspace}?\n`);
    expect(shown).toContain(`Committed to ${workspace}: 1 modified (M)\n`);
    expect(text()).toBe('2\n');
    expect(sandboxes()).toEqual([]);
  });

  it('no keeps the sandbox, and says how to go on', async () => {
    const { run, sandboxes, text } = prepared();
    const terminal = run(...CHANGE);
    await terminal.until(ASKED);
    terminal.type('no\r');
    expect(await terminal.ended).toBe(0);
    expect(text()).toBe('one\ntwo\n');
    const [{ id }] = sandboxes();
    expect(terminal.shown()).toContain(`To commit it:   turnback sandbox commit ${id}\n`);
  });

  it('discard removes it, and stores what it held', async () => {
    const { run, sandboxes, text } = prepared();
    const terminal = run(...CHANGE);
    await terminal.until(ASKED);
    terminal.type('d\r');
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toMatch(/Discarded; the sandbox is gone\.\nWhat it held is in checkpoint \w+/);
    expect([text(), sandboxes()]).toEqual(['one\ntwo\n', []]);
  });

  it('anything else asks again; view shows it again', async () => {
    const { run, sandboxes } = prepared();
    const terminal = run(...CHANGE);
    for (const keys of ['\r', 'x\r', 'yess\r', 'v\r', 'n\r']) {
      await terminal.until(ASKED);
      terminal.type(keys);
    }
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown().split('+++ b/a.txt')).toHaveLength(3);
    expect(sandboxes()).toHaveLength(1);
  });

  it.each([
    ['Ctrl-C', '\x03', 130],
    ['Ctrl-D', '\x04', 0],
  ])('%s keeps the sandbox', async (_what, key, code) => {
    const { run, sandboxes, text } = prepared();
    const terminal = run(...CHANGE);
    await terminal.until(ASKED);
    terminal.type(key);
    expect(await terminal.ended).toBe(code);
    expect(terminal.shown()).toContain('The work is kept in sandbox');
    expect(sandboxes()).toMatchObject([{ owner: 'detached', unsaved: true }]);
    expect(text()).toBe('one\ntwo\n');
  });

  it('the terminal goes away: the sandbox is kept', async () => {
    const { run, sandboxes, text } = prepared();
    const terminal = run(...CHANGE);
    await terminal.until(ASKED);
    process.kill(terminal.pid, 'SIGKILL');
    await terminal.ended;
    // The kernel hangs up on the process, which then lets go of the sandbox.
    while (sandboxes()[0].owner !== 'detached') await new Promise(setImmediate);
    expect(sandboxes()).toMatchObject([{ unsaved: true }]);
    expect(text()).toBe('one\ntwo\n');
  });

  it('keys that were meant for the command are no answer', async () => {
    const { home, run, sandboxes, text } = prepared();
    const go = join(home, 'go');
    const terminal = run('--', 'sh', '-c', 'echo 2 >a.txt; echo ready; while [ ! -e "$0" ]; do sleep 0.05; done', go);
    await terminal.until('ready');
    terminal.type('y\r');
    await terminal.until('y\r\n');
    writeFileSync(go, '');
    await terminal.until(ASKED);
    terminal.type('n\r');
    expect(await terminal.ended).toBe(0);
    expect([text(), sandboxes().length]).toEqual(['one\ntwo\n', 1]);
  });

  it('after a command that failed it is asked as well; its exit code is passed on', async () => {
    const { run, text } = prepared();
    const terminal = run('--', 'sh', '-c', 'echo 2 >a.txt; exit 5');
    await terminal.until('The command failed with 5.');
    await terminal.until(ASKED);
    terminal.type('y\r');
    expect(await terminal.ended).toBe(5);
    expect(text()).toBe('2\n');
  });

  it('a commit that meets conflicts says so, and keeps the sandbox', async () => {
    const { workspace, run, sandboxes, text } = prepared();
    const terminal = run(...CHANGE);
    await terminal.until(ASKED);
    writeFileSync(join(workspace, 'a.txt'), 'theirs\n');
    terminal.type('y\r');
    expect(await terminal.ended).toBe(4);
    expect(terminal.shown()).toContain('Nothing was committed: 1 path was changed');
    expect([text(), sandboxes().length]).toEqual(['theirs\n', 1]);
  });
});

describe('Ctrl-C while the command runs', () => {
  it('is the command’s: then the question comes', async () => {
    const { run, text } = prepared();
    // One process: a shell that has just forked may lose the interrupt between itself and its child.
    const terminal = run('--', 'sh', '-c', 'echo 2 >a.txt; echo ready; exec sleep 600');
    await terminal.until('ready');
    terminal.type('\x03');
    await terminal.until(ASKED);
    terminal.type('y\r');
    expect(await terminal.ended).toBe(130);
    expect(text()).toBe('2\n');
  });
});

describe('--yes, --discard and --keep ask nothing', () => {
  it.each(['--yes', '--discard', '--keep'])('%s', async (wish) => {
    const { run } = prepared();
    const terminal = run(wish, ...CHANGE);
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).not.toContain('Commit to');
    expect(terminal.shown()).not.toContain('+++');
  });

  it('--patch shows the texts all the same', async () => {
    const { run } = prepared();
    const terminal = run('--keep', '--patch', ...CHANGE);
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toContain('+++ b/a.txt\n');
  });
});

describe('the pager', () => {
  it('gets all of it; an interrupt is for it, and the question comes afterwards', async () => {
    const pager = join(write(temporary(), { 'pager.mjs': PAGER }), 'pager.mjs');
    const { run, sandboxes } = prepared({ PAGER: `'${process.execPath}' '${pager}'` });
    const terminal = run('--', 'sh', '-c', 'seq 1000 >long.txt');
    await terminal.until('paged to +1000');
    terminal.type('\x03');
    await terminal.until('the pager was interrupted');
    await terminal.until(ASKED);
    terminal.type('n\r');
    expect(await terminal.ended).toBe(0);
    expect(sandboxes()).toHaveLength(1);
  });

  it('less is the default, and goes by itself when all of it fits', async () => {
    const { workspace, env } = prepared();
    const { PAGER: _cat, ...rest } = env;
    const terminal = atTerminal(['run', ...CHANGE], { cwd: workspace, env: rest });
    await terminal.until(ASKED);
    terminal.type('n\r');
    expect(await terminal.ended).toBe(0);
    expect(terminal.shown()).toContain('+++ b/a.txt');
  });

  it('one that ends early, or cannot be run, keeps nobody from being asked', async () => {
    for (const PAGER of ['head -1', 'exit 3', 'no-such-pager']) {
      const { run, workspace } = prepared({ PAGER });
      const terminal = run('--', 'sh', '-c', 'seq 100000 >long.txt');
      await terminal.until(ASKED);
      terminal.type('n\r');
      expect(await terminal.ended).toBe(0);
      expect(existsSync(join(workspace, 'long.txt'))).toBe(false);
    }
  });
});
