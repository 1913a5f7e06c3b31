// The demo on a small tree: it proves an exact rollback, and does not claim one where a path is missing (issue 2, item 3).
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runDemo } from '../../demo/lib/demo.mjs';
import { type Engine, turnback, type Verdict } from '../../demo/lib/engine.mjs';
import { guardFaults } from '../../demo/lib/turn.mjs';
import { compare } from '../../demo/picture/compare.mjs';
import { compile, take } from '../../demo/picture/take.mjs';

const home = mkdtempSync(join(tmpdir(), 'turnback-demo-test-'));
const source = join(home, 'source');
const program = join(import.meta.dirname, '../../demo/run.mjs');

beforeAll(() => {
  for (const folder of ['src/lib', 'src/bin', 'docs', 'node_modules/left/lib']) {
    mkdirSync(join(source, folder), { recursive: true });
    for (let i = 0; i < 12; i++) writeFileSync(join(source, folder, `file-${i}.txt`), `${folder} ${i}\n`.repeat(i + 1));
  }
  writeFileSync(join(source, 'keep.txt'), 'keep me\n');
});
afterAll(() => {
  execFileSync('chmod', ['-R', 'u+rwX', home]);
  execFileSync('rm', ['-rf', home]);
});

function start(args: string[], temporary: string) {
  mkdirSync(temporary);
  const env = { ...process.env, TMPDIR: temporary, NO_COLOR: '1' };
  const child = spawn(process.execPath, [program, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const listeners: ((text: string) => void)[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      for (const listener of listeners) listener(output);
    });
  }
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve));
  return { child, ended, text: () => output, listeners };
}

test('the demo finds that every path came back, leaves nothing behind and its input alone', async () => {
  const programs = compile(join(home, 'bin'));
  const before = await take(programs, source);
  const temporary = join(home, 'tmp-1');
  const demo = start([source], temporary);
  const code = await demo.ended;
  expect(demo.text()).toContain('VERDICT: exact.');
  expect(code).toBe(0);
  expect(demo.text()).not.toContain('FAIL');
  expect(demo.text()).toMatch(/ok +the guard made one checkpoint for the turn, before its first commands: 0 faults/);
  expect(readdirSync(temporary)).toEqual([]);
  expect(compare(before, await take(programs, source))).toEqual([]);
});

test('the demo says so when a rollback leaves one file out', async () => {
  const place = join(home, 'sabotaged');
  mkdirSync(place);
  let text = '';
  const good = await runDemo({
    source,
    about: source,
    leaveOut: [],
    home: place,
    write: (chunk) => {
      text += chunk;
    },
    open: async (store) => {
      const engine = await turnback(store);
      const rollback = async (id: string) => {
        const report = await engine.rollback(id);
        unlinkSync(join(place, 'project/keep.txt'));
        return report;
      };
      return { ...engine, rollback };
    },
  });
  expect(good).toBe(false);
  expect(text).toMatch(/missing {4}keep\.txt {2}\(file of 8 bytes → nothing\)/);
  expect(text).toContain('VERDICT: not exact.');
});

test('the demo says so when a guard forgets the turn and makes a second checkpoint', async () => {
  const place = join(home, 'forgetful');
  mkdirSync(place);
  let text = '';
  const good = await runDemo({
    source,
    about: source,
    leaveOut: [],
    home: place,
    write: (chunk) => {
      text += chunk;
    },
    open: async (store) => {
      const engine = await turnback(store);
      const turn: Engine['turn'] = (directory, turnId) => {
        const [first, second] = [engine.turn(directory, turnId), engine.turn(directory, turnId)];
        let started = 0;
        return { ...first, run: (command, options) => (++started > 2 ? second : first).run(command, options) };
      };
      return { ...engine, turn };
    },
  });
  expect(good).toBe(false);
  expect(text).toContain('! command 3 was created');
  expect(text).toContain("! the store holds 2 of the guard's checkpoints");
  expect(text.match(/FAIL {2}.*/g)).toEqual([expect.stringContaining('the guard made one checkpoint for the turn')]);
});

test('only one checkpoint for all commands of a turn, made before them, is right', () => {
  const verdict = (outcome: string, other: Partial<Verdict> = {}): Verdict => ({
    ...{ outcome, reason: 'same_turn', protected: true, late: false, checkpointId: 'one', durationMs: 0 },
    ...other,
  });
  const [created, joined, covered] = [verdict('created'), verdict('joined'), verdict('already_covered')];
  expect(guardFaults([created, joined, covered], ['one'])).toEqual([]);
  expect(guardFaults([joined, created, covered], ['one'])).toEqual([]);
  expect(guardFaults([created, created, covered], ['one'])).toEqual(['the first commands were created and created']);
  expect(guardFaults([created, joined, verdict('skipped')], ['one'])).toEqual(['command 3 was skipped']);
  expect(guardFaults([created, joined, verdict('already_covered', { late: true })], ['one'])).toHaveLength(1);
  expect(guardFaults([created, joined, verdict('already_covered', { protected: false })], ['one'])).toHaveLength(1);
  expect(guardFaults([created, verdict('joined', { checkpointId: 'two' })], ['one'])).toHaveLength(1);
  for (const made of [[], ['two'], ['one', 'two']]) expect(guardFaults([created, joined], made)).toHaveLength(1);
});

test('a demo that is interrupted in the turn ends the commands and removes what it made', async () => {
  const temporary = join(home, 'tmp-3');
  const demo = start([source], temporary);
  demo.listeners.push((text) => {
    if (text.includes("Act 1: the agent's turn")) demo.child.kill('SIGINT');
  });
  expect(await demo.ended).toBe(130);
  expect(demo.text()).not.toContain('Act 2');
  expect(readdirSync(temporary)).toEqual([]);
});

test('an interrupted demo removes what it made', async () => {
  const temporary = join(home, 'tmp-2');
  const demo = start([source], temporary);
  demo.listeners.push((text) => {
    if (text.includes('open the store')) demo.child.kill('SIGINT');
  });
  expect(await demo.ended).toBe(130);
  expect(readdirSync(temporary)).toEqual([]);
});

test('a DIR that cannot be used is wrong usage', async () => {
  for (const [index, args] of [[join(home, 'none')], [join(source, 'keep.txt')], ['--nonsense'], [home]].entries()) {
    const demo = start(args, join(home, `tmp-usage-${index}`));
    expect(await demo.ended).toBe(2);
    expect(demo.text()).toMatch(/^demo: .+\n$/);
  }
});

test('-h tells how to use it', async () => {
  const demo = start(['-h'], join(home, 'tmp-help'));
  expect(await demo.ended).toBe(0);
  expect(demo.text()).toContain('usage: npm start [-- DIR]');
  rmSync(join(home, 'tmp-help'), { recursive: true });
});
