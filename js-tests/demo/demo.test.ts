// The demo on a small tree: it proves an exact rollback, and does not claim one where a path is missing (issue 2, item 3).
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runDemo } from '../../demo/lib/demo.mjs';
import { turnback } from '../../demo/lib/engine.mjs';
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
