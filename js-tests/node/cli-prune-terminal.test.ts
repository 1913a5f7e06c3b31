// C16: `turnback prune` that would leave nothing asks somebody who sits at a terminal, and takes no for no.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { temporary, turnback, write } from './support.js';
import { atTerminal, needsTerminal } from './terminal.js';

beforeEach(needsTerminal);

const ASKED = 'Go on?';
const ALL = ['prune', '--keep-last', '0'];

/** A store with three checkpoints, of which one is pinned. */
function prepared() {
  const home = temporary();
  const workspace = write(join(home, 'work'), { 'a.txt': '0\n' });
  const at = { cwd: workspace, env: { TURNBACK_STORE: join(home, 'store') } };
  const ids = [1, 2, 3].map((round) => {
    writeFileSync(join(workspace, 'a.txt'), `${round}\n`);
    return turnback(['checkpoint', '--quiet'], at).stdout.trim();
  });
  expect(turnback(['pin', String(ids[0])], at).code).toBe(0);
  const listed = () =>
    JSON.parse(turnback(['list', '--json'], at).stdout).checkpoints.map(
      (one: { checkpointId: string }) => one.checkpointId,
    );
  return { at, ids, listed };
}

it.each(['n\r', 'no\r', '\x04'])('%j: nothing is deleted, and it says what to do', async (keys) => {
  const { at, ids, listed } = prepared();
  const terminal = atTerminal(ALL, at);
  await terminal.until(ASKED);
  terminal.type(keys);
  expect(await terminal.ended).toBe(2);
  expect(terminal.shown()).toMatch(/INVALID_ARGUMENT: [\s\S]*--yes/);
  expect(listed().sort()).toEqual([...ids].sort());
});

it('Ctrl-C at the question: nothing is deleted', async () => {
  const { at, ids, listed } = prepared();
  const terminal = atTerminal(ALL, at);
  await terminal.until(ASKED);
  terminal.type('\x03');
  expect(await terminal.ended).toBe(1);
  expect(terminal.shown()).toContain('turnback: ABORTED: interrupted at the question; nothing was done');
  expect(listed().sort()).toEqual([...ids].sort());
});

it('anything else asks again, and nothing goes meanwhile', async () => {
  const { at, ids, listed } = prepared();
  const terminal = atTerminal(ALL, at);
  for (const keys of ['\r', 'x\r', 'yess\r']) {
    await terminal.until(ASKED);
    expect(listed()).toHaveLength(3);
    terminal.type(keys);
  }
  await terminal.until(ASKED);
  terminal.type('n\r');
  expect(await terminal.ended).toBe(2);
  expect(listed().sort()).toEqual([...ids].sort());
});

it('yes: all go but the pinned one', async () => {
  const { at, ids, listed } = prepared();
  const terminal = atTerminal(ALL, at);
  await terminal.until(ASKED);
  expect(listed()).toHaveLength(3);
  terminal.type('y\r');
  expect(await terminal.ended).toBe(0);
  expect(terminal.shown()).toMatch(/2 checkpoints deleted/);
  expect(listed()).toEqual([ids[0]]);
});
