// The README's programs, pasted and run one after the other in one place, as it says: each prints what stands below it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CheckpointManager } from 'turnback';
import { expect, it } from 'vitest';
import { picture, temporary, write } from '../node/support.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

/** Its blocks of code from the first program on, up to the next chapter. */
const BLOCKS = [
  ...README.slice(README.indexOf('### From Node'), README.indexOf('### From a shell')).matchAll(/```(\w*)\n(.*?)```/gs),
].map(([, language = '', text = '']) => ({ language, text }));

/** Without what is another each time: ids and durations. */
const lasting = (output: string) =>
  output
    .replace(/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, 'ID')
    .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, 'UUID')
    .replace(/durationMs: [\d.]+/g, 'durationMs: N');

/** A place with the packages, where a reader has them, and a store that holds another directory's checkpoint already. */
async function place() {
  const home = temporary();
  const modules = join(home, 'here', 'node_modules');
  mkdirSync(modules, { recursive: true });
  for (const [name, as] of [['turnback'], ['turnback-policy'], ['ai6', 'ai'], ['zod'], ['vitest']]) {
    symlinkSync(join(ROOT, 'node_modules', name as string), join(modules, as ?? (name as string)));
  }
  const store = join(home, 'store');
  const other = write(join(home, 'other'), { 'mine.txt': 'old\n' });
  const manager = await CheckpointManager.open({ store });
  await manager.createCheckpoint(other, 'plan', 'manual');
  await manager.close();
  write(other, { 'mine.txt': 'new\n' });
  const { VITEST: _vitest, NODE_ENV: _env, SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: _flag, ...rest } = process.env;
  const env = { ...rest, TMPDIR: temporary(), TURNBACK_STORE: store, NO_COLOR: '1', FORCE_COLOR: '0' };
  const here = join(home, 'here');
  const run = (program: string, ...args: string[]) => {
    const ran = spawnSync(program, args, { cwd: here, encoding: 'utf8', env });
    expect({ code: ran.status, output: ran.stdout + ran.stderr }).toMatchObject({ code: 0 });
    return ran.stdout;
  };
  return { here, other, run };
}

it('each program prints what the README says, in order, and touches no other directory of the store', async () => {
  const { here, other, run } = await place();
  const before = picture(other);
  const printed: string[] = [];
  let ran = 0;
  for (const [at, { language, text }] of BLOCKS.entries()) {
    if (language === 'sh' && text.startsWith('mkdir ')) run('sh', '-c', text);
    if (language !== 'js') continue;
    ran += 1;
    if (text.includes("from 'vitest'")) {
      writeFileSync(join(here, 'tidy.test.mjs'), text);
      const vitest = join(here, 'node_modules', 'vitest', 'vitest.mjs');
      expect(run(process.execPath, vitest, 'run')).toMatch(/Tests {2}2 passed \(2\)/);
      continue;
    }
    writeFileSync(join(here, 'example.mjs'), text);
    const output = run(process.execPath, 'example.mjs');
    expect(lasting(output)).toBe(lasting(BLOCKS[at + 1]?.text ?? ''));
    printed.push(output);
  }
  expect([ran, printed.length]).toEqual([5, 4]);
  expect(readdirSync(join(here, 'project')).sort()).toEqual(['notes.md', 'src']);
  expect(picture(other)).toEqual(before);
});
