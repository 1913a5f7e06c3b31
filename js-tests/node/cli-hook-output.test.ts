// G5: the exit code of a hook is its answer to the host, and that of a guarded program is the program's, whether or not anything can be written.
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { call, prepared } from './hook.js';
import { PACKAGE } from './support.js';

/** A device on which nothing can be written. */
function full(): number {
  const descriptor = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(descriptor));
  return descriptor;
}

/** The exit codes with stderr, standard output and both of them on a full disk. */
async function codes(args: string[], more: Record<string, string> = {}, input?: unknown): Promise<unknown[]> {
  const { workspace, start } = prepared();
  const streams = [{ err: full() }, { out: full() }, { out: full(), err: full() }];
  const ended = streams.map((stream) => start(input ?? call(workspace), args, { more, ...stream }).over);
  return (await Promise.all(ended)).map(({ code }) => code);
}

const NOWHERE = join('/', 'turnback', 'is', 'not', 'here');
const LOST = { CLAUDE_PROJECT_DIR: NOWHERE };
/** Neither the project nor the call's own directory is there. */
const LOST_CALL = call(NOWHERE);
const WARNED = { SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: 'perhaps' };

it('with --block a call without a checkpoint is kept from running', async () => {
  expect(await codes(['--block'], LOST, LOST_CALL)).toEqual([2, 2, 2]);
  expect(await codes(['--block', '--json'], { ...LOST, ...WARNED }, LOST_CALL)).toEqual([2, 2, 2]);
  expect(await codes(['--block'], {}, 'no JSON')).toEqual([2, 2, 2]);
});

it('without it, and with a checkpoint, the call is not disturbed', async () => {
  expect(await codes([], LOST, LOST_CALL)).toEqual([0, 0, 0]);
  expect(await codes(['--json'], { ...LOST, ...WARNED }, LOST_CALL)).toEqual([0, 0, 0]);
  expect(await codes(['--block', '--json', '--limit', '100s'], WARNED)).toEqual([0, 0, 0]);
  // The project is not there, but the call's own directory is: that has its checkpoint.
  expect(await codes(['--block', '--limit', '100s'], LOST)).toEqual([0, 0, 0]);
});

it('a command line that cannot be right is a failure, and no refusal', async () => {
  expect(await codes(['--bogus', '--block'])).toEqual([1, 1, 1]);
  expect(await codes(['--bogus', '--json'])).toEqual([1, 1, 1]);
});

it('G5: turnback run-guarded runs the program all the same, and has its exit code', () => {
  const { workspace, env } = prepared();
  const line = [join(PACKAGE, 'bin', 'turnback.js'), 'run-guarded', '--', 'sh', '-c', 'touch ran; exit 7'];
  const options = { cwd: workspace, env: { ...process.env, ...env, ...WARNED } };
  const { status } = spawnSync(process.execPath, line, { ...options, stdio: ['ignore', 'pipe', full()] });
  expect([status, existsSync(join(workspace, 'ran'))]).toEqual([7, true]);
});
