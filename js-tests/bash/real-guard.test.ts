// G1, G4, G5, F29 with the guards of both packages: what the driver is asked for, command by command.
import { rmSync } from 'node:fs';
import * as engine from 'turnback';
import { type CommandGuard, type Driver, runBash } from 'turnback';
import * as policy from 'turnback-policy';
import { describe, expect, it } from 'vitest';
import { deferred, rejection, temporary, write } from './support.js';

interface Options {
  driver: Driver;
  enabled: () => boolean;
  onFailure?: 'proceed' | 'block';
}

const GUARDS: [string, (options: Options) => CommandGuard][] = [
  ['turnback', engine.createGuard],
  ['turnback-policy', policy.createGuard],
];

describe.each(GUARDS)('runBash and the guard of %s', (_, createGuard) => {
  /** A guard with a driver that counts; `before` runs within each attempt. */
  function counting(before: (attempt: number) => void | Promise<void> = () => {}, options: Partial<Options> = {}) {
    const comments: string[] = [];
    const driver: Driver = {
      async createCheckpoint({ comment }) {
        comments.push(comment);
        await before(comments.length);
        return { checkpointId: `c${comments.length}` };
      },
    };
    return { comments, guard: createGuard({ driver, enabled: () => true, ...options }) };
  }

  it('one checkpoint a turn, also of 8 commands at once, and one more for the next turn (F28)', async () => {
    const { guard, comments } = counting();
    const sandbox = temporary();
    const run = (turnId: string) => runBash({ sandbox, command: 'true', guard, turnId });
    const verdicts = (await Promise.all(Array.from({ length: 8 }, () => run('t1')))).map((ran) => ran.checkpoint);
    expect(comments).toEqual(['turnback-pre-agent-t1']);
    expect(verdicts.every((verdict) => verdict?.protected && verdict.checkpointId === 'c1' && !verdict.late)).toBe(
      true,
    );
    expect(verdicts.filter((verdict) => verdict?.outcome === 'created')).toHaveLength(1);
    expect(await run('t2')).toMatchObject({ checkpoint: { outcome: 'created', checkpointId: 'c2' } });
    expect(comments).toEqual(['turnback-pre-agent-t1', 'turnback-pre-agent-t2']);
  });

  it('F29: the slot of a command that could not start is free: the next one gets its own checkpoint, and it is not late', async () => {
    const sandbox = temporary();
    const { guard, comments } = counting((attempt) => {
      if (attempt === 1) rmSync(sandbox, { recursive: true });
    });
    const run = () => runBash({ sandbox, command: 'true', guard, turnId: 't' });
    expect(await rejection(run())).toMatchObject({ code: 'NOT_FOUND' });
    write(sandbox, {});
    expect(await run()).toMatchObject({ checkpoint: { outcome: 'created', checkpointId: 'c2', late: false } });
    expect(await run()).toMatchObject({ checkpoint: { outcome: 'already_covered', checkpointId: 'c2' } });
    expect(comments).toHaveLength(2);
  });

  it('F29: so is that of one that was cancelled while the guard worked', async () => {
    const started = deferred<void>();
    const { guard } = counting(async (attempt) => {
      if (attempt > 1) return;
      started.resolve();
      await new Promise(() => {});
    });
    const sandbox = temporary();
    const controller = new AbortController();
    const run = (signal?: AbortSignal) => runBash({ sandbox, command: 'true', guard, turnId: 't', signal });
    const first = run(controller.signal);
    await started.promise;
    controller.abort();
    expect(await rejection(first)).toMatchObject({ code: 'ABORTED' });
    expect(await run()).toMatchObject({ checkpoint: { outcome: 'created', protected: true, late: false } });
  });

  it('a failed checkpoint lets the command run; the next one of the turn is late (G5, G6)', async () => {
    const { guard } = counting((attempt) => {
      if (attempt === 1) throw new Error('no space');
    });
    const run = () => runBash({ sandbox, command: 'echo ran', guard, turnId: 't' });
    const sandbox = temporary();
    expect(await run()).toMatchObject({ stdout: 'ran\n', checkpoint: { outcome: 'failed', protected: false } });
    expect(await run()).toMatchObject({ stdout: 'ran\n', checkpoint: { outcome: 'created', late: true } });
  });

  it('with `block` a failed checkpoint keeps the command from running, and holds no slot (G5)', async () => {
    const { guard } = counting(
      (attempt) => {
        if (attempt === 1) throw new Error('no space');
      },
      { onFailure: 'block' },
    );
    const sandbox = temporary();
    const run = (command: string) => runBash({ sandbox, command, guard, turnId: 't' });
    expect(await rejection(run('touch ran'))).toMatchObject({ code: 'CHECKPOINT_REQUIRED' });
    expect(await run('ls')).toMatchObject({ stdout: '', checkpoint: { outcome: 'created', late: false } });
  });
});
