// X3, G5, G6: `turnback hook claude-code` where what it needs hangs, is refused or dies: it answers in time, and what it answers is true.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { freeze, mounted, thaw } from '../guard/frozen-disk.js';
import { begun, call, NEXT_PROMPT, PROMPT, prepared } from './hook.js';
import { PACKAGE } from './support.js';

describe('with --block', () => {
  it.for(['notes', 'store'])('the call is blocked in time where the disk of the %s hangs', async (frozen, context) => {
    const there = mounted();
    if ('reason' in there) return context.skip(there.reason);
    const { workspace, start } = prepared();
    const name = frozen === 'notes' ? 'XDG_STATE_HOME' : 'TURNBACK_STORE';
    if (!freeze(there.mount)) return context.skip('fsfreeze is not possible here');
    try {
      const more = { [name]: join(there.mount, 'here') };
      const { code, stdout, stderr } = await start(call(workspace), ['--block', '--limit', '1s'], { more }).over;
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
      expect(stderr).toMatch(/^turnback: no checkpoint: (timed_out|failed) \([^\n]* in time\); the call is blocked\n$/);
    } finally {
      thaw(there.mount);
    }
  });

  it('and so it is where the process that makes the checkpoint dies', async () => {
    const { worker, over, go } = await begun();
    process.kill(worker, 'SIGKILL');
    const { code, stdout } = await over;
    expect({ code, ...JSON.parse(stdout) }).toEqual({
      code: 2,
      outcome: 'failed',
      protected: false,
      reason: 'its process ended without an answer (SIGKILL)',
    });
    await go();
  });

  it('a checkpoint that is ready when nobody waits any more protects nothing, and goes (G6)', async () => {
    const { workspace, child, worker, over, go, told, checkpoints } = await begun();
    child.kill('SIGKILL');
    expect((await over).code).toBeNull();
    await go();
    while (existsSync(`/proc/${worker}`)) await new Promise(setImmediate);
    const turns = () => checkpoints().map(({ metadata }: { metadata: { turnId: string } }) => metadata.turnId);
    expect(turns()).toEqual([NEXT_PROMPT]);
    expect(await told(call(workspace))).toMatchObject({ outcome: 'created', late: true });
    expect(turns()).toEqual([NEXT_PROMPT, PROMPT]);
  });
});

describe('the name by which calls of a prompt wait for one another', () => {
  it('cannot be had: the call has its checkpoint all the same, called late (G6), and that is said', async (context) => {
    const { workspace, env, checkpoints } = prepared();
    const refused = ['-f', '-qq', '-o', '/dev/null', '-e', 'trace=bind', '-e', 'inject=bind:error=EACCES'];
    const hook = [process.execPath, join(PACKAGE, 'bin', 'turnback.js'), 'hook', 'claude-code', '--limit', '100s'];
    const ran = spawnSync('strace', [...refused, ...hook], {
      encoding: 'utf8',
      env: { ...process.env, ...env },
      input: JSON.stringify(call(workspace)),
    });
    if (ran.error || /ptrace/.test(ran.stderr)) return context.skip('strace is not possible here');
    expect(ran).toMatchObject({ status: 0, stdout: '' });
    expect(ran.stderr).toMatch(
      /^turnback: warning: the calls of this prompt cannot wait for one another: [^\n]*\(err: listen EACCES: [^\n]*\)\n$/,
    );
    expect(checkpoints()).toMatchObject([{ metadata: { turnId: PROMPT, late: 'true' } }]);
  });

  it('is taken by somebody else: the call is held up until its limit, and runs, or with --block does not', async () => {
    const { workspace, env, start, checkpoints } = prepared();
    const about = JSON.stringify([env.TURNBACK_STORE, workspace, PROMPT]);
    const somebody = createServer();
    somebody.listen(`\0turnback-${createHash('sha256').update(about).digest('hex')}`);
    await once(somebody, 'listening');
    onTestFinished(() => void somebody.close());
    for (const [args, code, then] of [
      [[], 0, 'the call runs'],
      [['--block'], 2, 'the call is blocked'],
    ] as const) {
      const ran = await start(call(workspace), ['--limit', '2s', ...args]).over;
      expect(ran).toMatchObject({ code, stdout: '' });
      expect(ran.stderr).toMatch(new RegExp(`^turnback: no checkpoint: (timed_out|failed) \\(.*\\); ${then}\n$`));
    }
    expect(checkpoints()).toEqual([]);
  });
});
