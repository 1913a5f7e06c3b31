// The examples are run as they stand, and say what their texts say.
import { spawnSync } from 'node:child_process';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Sprite } from '@fly/sprites';
import { expect, it, onTestFinished } from 'vitest';
import { COMPLETE, FakeSprites } from '../drivers/fake-sprites.js';
import { temporary } from '../node/support.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EXAMPLES = join(ROOT, 'examples');

/** Runs a program as a user does, in the repository's root. */
function run(...args: string[]): string {
  const { VITEST: _vitest, NODE_ENV: _env, ...rest } = process.env;
  const env = { ...rest, TMPDIR: temporary(), NO_COLOR: '1', FORCE_COLOR: '0' };
  const ran = spawnSync(process.execPath, args, { cwd: ROOT, encoding: 'utf8', env });
  expect({ code: ran.status, output: ran.stdout + ran.stderr }).toMatchObject({ code: 0 });
  return ran.stdout;
}

it('agent-server: a turn of parallel tools, and the way back', () => {
  expect(run(join(EXAMPLES, 'agent-server', 'main.mjs'))).toBe(
    [
      "run: { turnId: 'turn-1', text: 'All tidy.' }",
      "files: [ 'junk.txt' ] checkpoints: 1",
      'undo: { restored: true, written: 2, deleted: 1 }',
      "files: [ 'src' ]",
      "undo: { error: 'no checkpoint of turn turn-2' }",
      '',
    ].join('\n'),
  );
});

it('own-loop: the first turn is taken back and the second one stays', () => {
  expect(run(join(EXAMPLES, 'own-loop', 'main.mjs'))).toBe(
    [
      'Write a report: README.md data report.md',
      'Add the licence: LICENSE README.md data report.md',
      'First turn reverted: { restored: true, deleted: 3 } LICENSE README.md',
      '',
    ].join('\n'),
  );
});

it('vitest-fixtures: a sandbox for each test', () => {
  const vitest = join(ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  expect(run(vitest, 'run', '--root', join(EXAMPLES, 'vitest-fixtures'))).toMatch(/Tests {2}5 passed \(5\)/);
});

it('sprites-server: a checkpoint of the Sprite before the first command of each turn, and no command without', async () => {
  const sprites = await FakeSprites.start();
  onTestFinished(() => sprites.stop());
  const done: string[] = [];
  sprites.onCreate = (received) => {
    done.push(`checkpoint ${received.comment}`);
    if (received.comment.endsWith('-3')) return void received.answer(500, 'no');
    sprites.add(received.comment);
    received.open().send(COMPLETE).end();
  };
  const { spriteServer } = (await import(pathToFileURL(join(EXAMPLES, 'sprites-server', 'server.mjs')).href)) as {
    spriteServer(options: { sprite: Sprite; exec(command: string): Promise<object>; onFailure: string }): Server;
  };
  const exec = async (command: string) => {
    done.push(command);
    return { exitCode: 0 };
  };
  const server = spriteServer({ sprite: sprites.sprite(), exec, onFailure: 'block' });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const ask = async (command: string, turnId: string) => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/exec`;
    const response = await fetch(url, { method: 'POST', body: JSON.stringify({ command, turnId }) });
    return [response.status, await response.json()];
  };
  expect(await ask('make', 'turn-1')).toEqual([200, { exitCode: 0 }]);
  expect(await ask('make test', 'turn-1')).toEqual([200, { exitCode: 0 }]);
  expect(await ask('make clean', 'turn-2')).toEqual([200, { exitCode: 0 }]);
  expect(await ask('rm -rf /', 'turn-3')).toMatchObject([503, { code: 'CHECKPOINT_REQUIRED' }]);
  expect(done).toEqual([
    'checkpoint turnback-pre-agent-turn-1',
    'make',
    'make test',
    'checkpoint turnback-pre-agent-turn-2',
    'make clean',
    'checkpoint turnback-pre-agent-turn-3',
  ]);
});
