// C14: every branch of applying a plan, with a manager and a sandbox that do as they are told.
import { PlanApplyService } from 'turnback';
import { describe, expect, it } from 'vitest';
import { rejection } from '../node/support.js';
import { steps, world } from './support.js';

const broken = new Error('the disk is full');
const conflict = { path: 'a.txt', ours: 'a file of 3 bytes', theirs: 'nothing' };

describe('with a manager', () => {
  it('takes a checkpoint, commits with the options it was given, and gives the report', async () => {
    const { journal, lines, logger, checkpointManager, sandbox } = world({ committed: { branch: 'b' } });
    const report = await new PlanApplyService({ checkpointManager, logger }).apply('p', sandbox, {
      onConflict: 'ours',
    });
    expect(report).toEqual({
      committed: true,
      changes: [],
      conflicts: [],
      heldBack: [],
      branch: 'b',
      rolledBack: false,
    });
    expect(Object.isFrozen(report)).toBe(true);
    expect(journal).toEqual([
      ['checkpoint', 'sb-1', 'p', 'pre_apply', {}],
      ['commit', { onConflict: 'ours' }],
    ]);
    expect(lines).toEqual([]);
  });

  it('conflicts that were decided are no failure', async () => {
    const { journal, checkpointManager, sandbox } = world({ committed: { conflicts: [conflict] } });
    const report = await new PlanApplyService({ checkpointManager }).apply('p', sandbox, { onConflict: 'theirs' });
    expect(report).toMatchObject({ committed: true, conflicts: [conflict], rolledBack: false });
    expect(steps(journal)).toEqual(['pre_apply', 'commit']);
  });

  it('a commit that fails: rolled back, and its own error thrown again', async () => {
    const { journal, lines, logger, checkpointManager, sandbox } = world({ commit: broken });
    const thrown = await rejection(new PlanApplyService({ checkpointManager, logger }).apply('p', sandbox));
    expect(thrown).toBe(broken);
    expect(thrown).toMatchObject({ rolledBack: true, rollback: { undoCheckpointId: 'undo-1' } });
    expect(journal.at(-1)).toEqual(['rollback', 'pre_apply-1', { git: 'exact' }]);
    expect(lines).toMatchObject([{ level: 'warn', fields: { err: broken, checkpointId: 'pre_apply-1' } }]);
  });

  it('a commit that meets conflicts: rolled back, and the report says so', async () => {
    const { journal, lines, logger, checkpointManager, sandbox } = world({
      committed: { committed: false, conflicts: [conflict] },
    });
    const report = await new PlanApplyService({ checkpointManager, logger }).apply('p', sandbox);
    expect(report).toMatchObject({
      committed: false,
      conflicts: [conflict],
      rolledBack: true,
      rollback: { restored: true },
    });
    expect(steps(journal)).toEqual(['pre_apply', 'commit', 'rollback']);
    expect(lines).toMatchObject([{ level: 'warn', fields: { conflicts: 1 } }]);
  });

  it.each([
    ['fails', { commit: new Error('nope') }],
    ['meets conflicts', { committed: { committed: false, conflicts: [conflict] } }],
  ])('when the commit %s and the rollback fails too, both are told; one line', async (_what, behaviour) => {
    const jammed = new Error('jammed');
    const { lines, logger, checkpointManager, sandbox } = world({ ...behaviour, rollback: jammed });
    const service = new PlanApplyService({ checkpointManager, logger });
    const told = await service.apply('p', sandbox).catch((error: unknown) => error);
    expect(told).toMatchObject({ rolledBack: false, rollbackError: jammed });
    expect(lines).toMatchObject([{ level: 'error', fields: { rollbackErr: jammed } }]);
  });
});

describe('a checkpoint that fails', () => {
  it('is done without by default: nothing can be rolled back', async () => {
    const { journal, lines, logger, checkpointManager, sandbox } = world({ checkpoint: { pre_apply: broken } });
    const report = await new PlanApplyService({ checkpointManager, logger }).apply('p', sandbox);
    expect(report).toMatchObject({ committed: true, rolledBack: false });
    expect(steps(journal)).toEqual(['pre_apply', 'commit']);
    expect(lines).toMatchObject([{ level: 'warn', fields: { phase: 'pre_apply', err: broken } }]);
  });

  it('and then the commit: thrown again, nothing rolled back', async () => {
    const nope = new Error('nope');
    const { journal, checkpointManager, sandbox } = world({ checkpoint: { pre_apply: broken }, commit: nope });
    const thrown = await rejection(new PlanApplyService({ checkpointManager }).apply('p', sandbox));
    expect(thrown).toBe(nope);
    expect(thrown).toMatchObject({ rolledBack: false });
    expect(steps(journal)).toEqual(['pre_apply', 'commit']);
  });

  it('keeps a plan that may not go on without from being applied', async () => {
    const { journal, lines, logger, checkpointManager, sandbox } = world({ checkpoint: { pre_apply: broken } });
    const service = new PlanApplyService({ checkpointManager, onCheckpointFailure: 'abort', logger });
    const thrown = await rejection(service.apply('p', sandbox));
    expect(thrown).toMatchObject({ code: 'CHECKPOINT_REQUIRED', cause: broken, rolledBack: false });
    expect(steps(journal)).toEqual(['pre_apply']);
    expect(lines).toMatchObject([{ level: 'error', fields: { err: broken } }]);
  });
});

describe('without a manager', () => {
  it('the sandbox is just committed', async () => {
    const { journal, sandbox } = world();
    expect(await new PlanApplyService().apply('p', sandbox)).toMatchObject({ committed: true, rolledBack: false });
    expect(steps(journal)).toEqual(['commit']);
  });

  it.each([
    ['fails', { commit: broken }],
    ['meets conflicts', { committed: { committed: false, conflicts: [conflict] } }],
  ])('a commit that %s says that nothing was rolled back', async (_what, behaviour) => {
    const { journal, sandbox } = world(behaviour);
    const told = await new PlanApplyService().apply('p', sandbox).catch((error: unknown) => error);
    expect(told).toMatchObject({ rolledBack: false });
    expect(steps(journal)).toEqual(['commit']);
  });
});

it.each<[string, unknown[], RegExp]>([
  ['a plan id', ['a\nb', world().sandbox], /planId holds control characters/],
  ['a sandbox', ['p', { id: 'x', enter() {} }], /sandbox is no sandbox/],
])('%s that is none is refused before anything is done', async (_what, args, message) => {
  const { journal, checkpointManager } = world();
  const service = new PlanApplyService({ checkpointManager });
  const thrown = await rejection((service.apply as (...all: unknown[]) => Promise<unknown>).apply(service, args));
  expect(thrown).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringMatching(message) });
  expect(journal).toEqual([]);
});
