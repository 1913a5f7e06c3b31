// C13: every branch of a plan's run, with a manager and a sandbox that do as they are told.
import { PlanExecutor } from 'turnback';
import { describe, expect, it } from 'vitest';
import { rejection } from '../node/support.js';
import { steps, world } from './support.js';

const broken = new Error('the disk is full');

describe('with a manager', () => {
  it('takes a checkpoint before and one after success, and gives what the plan gives', async () => {
    const { journal, lines, logger, checkpointManager, sandbox } = world();
    const executor = new PlanExecutor({ checkpointManager, logger });
    const result = await executor.runExecute('plan-7', sandbox, async (path) => {
      journal.push(['execute', path]);
      return { answer: 42 };
    });
    expect(result).toEqual({ answer: 42 });
    expect(journal).toEqual([
      ['enter'],
      ['checkpoint', 'sb-1', 'plan-7', 'pre_execute', {}],
      ['execute', '/sandbox'],
      ['checkpoint', 'sb-1', 'plan-7', 'post_execute', { status: 'success' }],
    ]);
    expect(lines).toEqual([]);
  });

  it('a plan that fails is rolled back to the checkpoint of this run, and its own error thrown again', async () => {
    const { journal, lines, logger, checkpointManager, sandbox } = world();
    const failure = new TypeError('nope');
    const executor = new PlanExecutor({ checkpointManager, logger });
    const thrown = await rejection(executor.runExecute('p', sandbox, () => Promise.reject(failure)));
    expect(thrown).toBe(failure);
    expect(thrown).toMatchObject({ rolledBack: true, rollback: { restored: true, undoCheckpointId: 'undo-1' } });
    expect(thrown).toMatchObject({ rollbackError: undefined });
    expect(journal.slice(2)).toEqual([['rollback', 'pre_execute-1', { git: 'exact' }]]);
    expect(lines).toEqual([
      {
        level: 'warn',
        message: 'the plan failed and was rolled back',
        fields: {
          planId: 'p',
          sandboxId: 'sb-1',
          err: failure,
          checkpointId: 'pre_execute-1',
          undoCheckpointId: 'undo-1',
        },
      },
    ]);
  });

  it('a plan that throws at once is a plan that fails', async () => {
    const { journal, checkpointManager, sandbox } = world();
    const run = new PlanExecutor({ checkpointManager }).runExecute('p', sandbox, () => {
      throw broken;
    });
    expect(await rejection(run)).toBe(broken);
    expect(steps(journal)).toEqual(['enter', 'pre_execute', 'rollback']);
  });

  it("what works in place keeps the user's .git (C7)", async () => {
    const { journal, checkpointManager, sandbox } = world({}, 'none');
    await rejection(new PlanExecutor({ checkpointManager }).runExecute('p', sandbox, () => Promise.reject(broken)));
    expect(journal.at(-1)).toEqual(['rollback', 'pre_execute-1', { git: 'keep' }]);
  });

  it('when the rollback fails too, the plan’s failure is thrown and says so; one line', async () => {
    const jammed = new Error('jammed');
    const { lines, logger, checkpointManager, sandbox } = world({ rollback: jammed });
    const executor = new PlanExecutor({ checkpointManager, logger });
    const failure = new Error('nope');
    const thrown = await rejection(executor.runExecute('p', sandbox, () => Promise.reject(failure)));
    expect(thrown).toBe(failure);
    expect(thrown).toMatchObject({ rolledBack: false, rollbackError: jammed, rollback: undefined });
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ level: 'error', fields: { err: failure, rollbackErr: jammed } });
  });

  it('a rollback in part is none, and its report says what is left', async () => {
    const report = { restored: false, notRestorable: [{ path: 'a', reason: 'unreadable' }] };
    const { lines, logger, checkpointManager, sandbox } = world({ report });
    const executor = new PlanExecutor({ checkpointManager, logger });
    const thrown = await rejection(executor.runExecute('p', sandbox, () => Promise.reject(new Error('nope'))));
    expect(thrown).toMatchObject({ rolledBack: false, rollback: report });
    expect(lines).toMatchObject([{ level: 'error', message: 'the plan failed and was rolled back in part' }]);
  });

  it('runs on one sandbox go back to their own checkpoints', async () => {
    const { journal, checkpointManager, sandbox } = world();
    const executor = new PlanExecutor({ checkpointManager });
    let begun: { fail: (error: Error) => void } | undefined;
    const first = executor.runExecute(
      'a',
      sandbox,
      () =>
        new Promise((_, fail) => {
          begun = { fail };
        }),
    );
    await executor.runExecute('b', sandbox, () => 'done');
    begun?.fail(broken);
    await rejection(first);
    expect(journal.filter(([what]) => what === 'rollback')).toEqual([['rollback', 'pre_execute-1', { git: 'exact' }]]);
  });

  it('a plan within a plan: each says what became of its own sandbox', async () => {
    const outer = world();
    const inner = world({ rollback: broken });
    const failure = new Error('nope');
    const thrown = await rejection(
      new PlanExecutor({ checkpointManager: outer.checkpointManager }).runExecute('out', outer.sandbox, async () => {
        const executor = new PlanExecutor({ checkpointManager: inner.checkpointManager });
        const own = await rejection(executor.runExecute('in', inner.sandbox, () => Promise.reject(failure)));
        expect(own).toMatchObject({ rolledBack: false, rollbackError: broken });
        throw own;
      }),
    );
    expect(thrown).toBe(failure);
    expect(thrown).toMatchObject({ rolledBack: true, rollbackError: undefined });
  });
});

describe('a checkpoint that fails', () => {
  it('before the plan: it goes on without, and nothing can be rolled back', async () => {
    const { journal, lines, logger, checkpointManager, sandbox } = world({ checkpoint: { pre_execute: broken } });
    const executor = new PlanExecutor({ checkpointManager, logger });
    const failure = new Error('nope');
    const thrown = await rejection(executor.runExecute('p', sandbox, () => Promise.reject(failure)));
    expect(thrown).toBe(failure);
    expect(thrown).toMatchObject({ rolledBack: false, rollback: undefined, rollbackError: undefined });
    expect(steps(journal)).toEqual(['enter', 'pre_execute']);
    expect(lines).toMatchObject(
      [
        { level: 'warn', fields: { phase: 'pre_execute', err: broken }, message: /goes on without it/ },
        { level: 'warn', fields: { err: failure }, message: 'the plan failed; nothing was rolled back' },
      ].map(({ message, ...rest }) => ({ ...rest, message: expect.stringMatching(message) })),
    );
  });

  it('before the plan that may not go on without: it does not run', async () => {
    const { journal, lines, logger, checkpointManager, sandbox } = world({ checkpoint: { pre_execute: broken } });
    const executor = new PlanExecutor({ checkpointManager, onCheckpointFailure: 'abort', logger });
    const thrown = await rejection(executor.runExecute('p', sandbox, () => journal.push(['execute'])));
    expect(thrown).toMatchObject({
      name: 'TurnbackError',
      code: 'CHECKPOINT_REQUIRED',
      cause: broken,
      details: { phase: 'pre_execute', planId: 'p', sandboxId: 'sb-1' },
      message: expect.stringContaining('the disk is full'),
      rolledBack: false,
    });
    expect(steps(journal)).toEqual(['enter', 'pre_execute']);
    expect(lines).toMatchObject([{ level: 'error', fields: { err: broken } }]);
  });

  it('after the plan: what it gave is given all the same', async () => {
    const { lines, logger, checkpointManager, sandbox } = world({ checkpoint: { post_execute: broken } });
    const executor = new PlanExecutor({ checkpointManager, logger });
    expect(await executor.runExecute('p', sandbox, () => 'done')).toBe('done');
    expect(lines).toMatchObject([{ level: 'warn', fields: { phase: 'post_execute', err: broken } }]);
  });

  it('after a plan that may not go on without: it is rolled back like any that fails', async () => {
    const { journal, lines, logger, checkpointManager, sandbox } = world({ checkpoint: { post_execute: broken } });
    const executor = new PlanExecutor({ checkpointManager, onCheckpointFailure: 'abort', logger });
    const thrown = await rejection(executor.runExecute('p', sandbox, () => 'done'));
    expect(thrown).toMatchObject({ code: 'CHECKPOINT_REQUIRED', cause: broken, rolledBack: true });
    expect(steps(journal)).toEqual(['enter', 'pre_execute', 'post_execute', 'rollback']);
    expect(lines).toHaveLength(1);
  });

  it('after it, and the rollback fails as well: both are told', async () => {
    const behaviour = { checkpoint: { post_execute: broken }, rollback: new Error('jammed') };
    const { lines, logger, checkpointManager, sandbox } = world(behaviour);
    const executor = new PlanExecutor({ checkpointManager, onCheckpointFailure: 'abort', logger });
    const thrown = await rejection(executor.runExecute('p', sandbox, () => 'done'));
    expect(thrown).toMatchObject({ cause: broken, rolledBack: false, rollbackError: behaviour.rollback });
    expect(lines.map(({ level }) => level)).toEqual(['error', 'error']);
  });
});

describe('without a manager', () => {
  it('the plan just runs', async () => {
    const { journal, lines, logger, sandbox } = world();
    expect(await new PlanExecutor({ logger }).runExecute('p', sandbox, (path) => path)).toBe('/sandbox');
    expect(await new PlanExecutor().runExecute('p', sandbox, (path) => path)).toBe('/sandbox');
    expect(journal).toEqual([['enter'], ['enter']]);
    expect(lines).toEqual([]);
  });

  it('its failure is thrown again and says that nothing was rolled back', async () => {
    const { journal, sandbox } = world();
    const failure = new Error('nope');
    const thrown = await rejection(new PlanExecutor().runExecute('p', sandbox, () => Promise.reject(failure)));
    expect(thrown).toBe(failure);
    expect(thrown).toMatchObject({ rolledBack: false });
    expect(steps(journal)).toEqual(['enter']);
  });
});

describe('what plans throw', () => {
  const hostile = new Proxy(new Error('nope'), {
    defineProperty() {
      throw new RangeError('trap');
    },
  });
  it.each([
    ['a text', 'nope', 'the plan failed: nope'],
    ['nothing', undefined, 'the plan failed: undefined'],
    ['a symbol', Symbol('nope'), 'the plan failed: Symbol(nope)'],
    ['an object without a text', Object.freeze(Object.create(null)), 'the plan failed: something that has no text'],
    ['a frozen error', Object.freeze(new Error('nope')), 'the plan failed: nope'],
    ['an error that refuses', hostile, 'the plan failed: nope'],
    ['a megabyte', 'x'.repeat(1 << 20), `the plan failed: ${'x'.repeat(500)}…`],
  ])('%s can carry nothing: it is the cause of an error that can', async (_what, thrown, message) => {
    const { checkpointManager, sandbox } = world();
    const run = new PlanExecutor({ checkpointManager }).runExecute('p', sandbox, () => Promise.reject(thrown));
    const error = (await rejection(run)) as Error;
    expect(error).toBeInstanceOf(Error);
    expect(error.message).toBe(message);
    expect(error.cause).toBe(thrown);
    expect(error).toMatchObject({ rolledBack: true });
  });
});

describe('what cannot be', () => {
  it('a sandbox that cannot be entered: nothing is begun', async () => {
    const { journal, checkpointManager, sandbox } = world({ enter: broken });
    const thrown = await rejection(new PlanExecutor({ checkpointManager }).runExecute('p', sandbox, () => 'done'));
    expect(thrown).toBe(broken);
    expect(journal).toEqual([['enter']]);
  });

  it('a logger that fails changes nothing', async () => {
    const { checkpointManager, sandbox } = world({ checkpoint: { pre_execute: broken, post_execute: broken } });
    const bad = () => Promise.reject(new Error('logger'));
    const logger = { debug: bad, info: bad, warn: bad, error: bad };
    const executor = new PlanExecutor({ checkpointManager, logger });
    expect(await executor.runExecute('p', sandbox, () => 'done')).toBe('done');
  });

  it.each<[string, () => unknown, RegExp]>([
    ['a manager', () => new PlanExecutor({ checkpointManager: {} as never }), /is no CheckpointManager/],
    ['a policy', () => new PlanExecutor({ onCheckpointFailure: 'block' as never }), /is none of proceed, abort/],
    ['a name', () => new PlanExecutor({ manager: 1 } as never), /has no "manager"/],
    ['options', () => new PlanExecutor(null as never), /is null/],
  ])('%s that is none is refused at once', (_what, make, message) => {
    expect(make).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(message) }),
    );
  });

  const { sandbox } = world();
  it.each<[string, unknown[], RegExp]>([
    ['a plan id', ['', sandbox, () => 1], /planId has 0 bytes/],
    ['a sandbox', ['p', '/path', () => 1], /sandbox is no sandbox/],
    ['a sandbox without an id', ['p', { enter() {} }, () => 1], /sandbox.id is missing/],
    ['a plan', ['p', sandbox, 'rm -rf build'], /execute is no function/],
  ])('%s that is none is refused before anything is done', async (_what, args, message) => {
    const { journal, checkpointManager } = world();
    const executor = new PlanExecutor({ checkpointManager });
    const thrown = await rejection(
      (executor.runExecute as (...all: unknown[]) => Promise<unknown>).apply(executor, args),
    );
    expect(thrown).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(message) });
    expect(journal).toEqual([]);
  });
});
