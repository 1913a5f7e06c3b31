// C9, C16: prune, pins, labels, and a store that never holds more than it may.
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointManager, createGuard, localDriver, type Phase } from 'turnback';
import { describe, expect, it, vi } from 'vitest';
import { rejection, scene, UNKNOWN_ID, write } from './support.js';

const MIB = 1 << 20;

/** Checkpoints with a file of their own each; the ids, oldest first. */
async function several(
  manager: CheckpointManager,
  workspace: string,
  phases: Phase[],
  bytes = 4096,
): Promise<string[]> {
  const ids: string[] = [];
  for (const phase of phases) {
    writeFileSync(join(workspace, 'changing'), randomBytes(bytes));
    ids.push((await manager.createCheckpoint(workspace, 'p', phase)).checkpointId);
  }
  return ids;
}

const idsOf = async (manager: CheckpointManager) =>
  (await manager.listCheckpoints()).map(({ checkpointId }) => checkpointId);

describe('C9: prune', () => {
  it('keepLast: a dry run says what the real one does; pins and reasons are told', async () => {
    const { manager, workspace, home } = await scene();
    const [a = '', b = '', c = '', d = ''] = await several(manager, workspace, Array(4).fill('manual'));
    const other = await manager.createCheckpoint(write(join(home, 'other'), { x: 'y' }), 'p', 'manual');
    await manager.pin(a, true);
    const planned = await manager.prune({ keepLast: 1, dryRun: true });
    expect(await idsOf(manager)).toHaveLength(5);
    const done = await manager.prune({ keepLast: 1 });
    expect(done.deleted).toEqual([b, c]);
    expect(planned).toMatchObject({ deleted: done.deleted, kept: done.kept });
    expect(done.kept).toEqual([
      { checkpointId: a, reason: 'pinned' },
      { checkpointId: d, reason: 'keep_last' },
      { checkpointId: other.checkpointId, reason: 'keep_last' },
    ]);
    expect(done.freedBytes).toBeGreaterThanOrEqual(2 * 4096);
    for (const part of [done, done.deleted, done.kept, done.kept[0]]) expect(Object.isFrozen(part)).toBe(true);
    expect(await idsOf(manager)).toEqual([a, d, other.checkpointId]);
    expect(await manager.verify()).toMatchObject({ ok: true, checked: 3 });
    await manager.pin(a, false);
    expect((await manager.prune({ keepLast: 1 })).deleted).toEqual([a]);
  });

  it('keepWithinMs keeps what is young; without a rule nothing that somebody made goes', async () => {
    const { manager, workspace } = await scene();
    const ids = await several(manager, workspace, ['manual', 'pre_batch', 'manual']);
    const young = await manager.prune({ keepWithinMs: 86_400_000 });
    expect(young).toMatchObject({
      deleted: [],
      kept: ids.map((checkpointId) => ({ checkpointId, reason: 'keep_within' })),
    });
    const none = await manager.prune();
    expect(none.deleted).toEqual([]);
    expect(none.kept.map(({ reason }) => reason)).toEqual(['asked_for', 'keep_last', 'asked_for']);
  });

  it('maxBytes: the oldest go until the store is small enough', async () => {
    const { manager, workspace } = await scene();
    const ids = await several(manager, workspace, Array(4).fill('manual'), MIB);
    const { storeBytes } = await manager.usage();
    const report = await manager.prune({ maxBytes: storeBytes - MIB });
    expect(report.deleted).toEqual(ids.slice(0, report.deleted.length));
    expect(report.deleted.length).toBeGreaterThan(0);
    expect(report.deleted.length).toBeLessThan(4);
    expect((await manager.usage()).storeBytes).toBeLessThanOrEqual(storeBytes - MIB);
    expect(report.kept.map(({ reason }) => reason)).toContain('fits');
  });

  it('a guard counts on no checkpoint that was pruned (G9)', async () => {
    const { manager, workspace } = await scene();
    const guard = createGuard({ driver: localDriver(manager, workspace), enabled: () => true, timeoutMs: 60_000 });
    const batch = () => guard.beforeBatch({ sandboxId: workspace, turnId: 't' });
    expect(await batch()).toMatchObject({ outcome: 'created' });
    expect(await batch()).toMatchObject({ outcome: 'already_covered' });
    await manager.prune({ keepLast: 0, all: true });
    expect(await batch()).toMatchObject({ outcome: 'created', late: true });
    const signal = AbortSignal.abort();
    expect(await rejection(manager.prune({ keepLast: 0 }, { signal }))).toMatchObject({ code: 'ABORTED' });
  });

  it('C9: rules that would leave nothing but pinned ones are refused, whatever they are; `all` allows it, and a dry run is free', async () => {
    const { manager, workspace } = await scene();
    const [pinned = '', ...others] = await several(manager, workspace, ['manual', 'manual', 'pre_batch']);
    await manager.pin(pinned, true);
    // Older than no time at all.
    await vi.waitUntil(async () => (await manager.prune({ keepWithinMs: 0, dryRun: true })).deleted.length === 2, {
      timeout: 60_000,
    });
    for (const rules of [{ keepLast: 0 }, { keepWithinMs: 0 }, { maxBytes: 0 }, { keepLast: 5, maxBytes: 1000 }]) {
      const error = await rejection(manager.prune(rules));
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', details: { argument: 'rules.all' } });
      expect((error as Error).message).toMatch(/all 2 checkpoints that can go: .*nothing was deleted; .*`all: true`/);
      expect((await manager.prune({ ...rules, dryRun: true })).deleted).toEqual(others);
      expect(await manager.listCheckpoints()).toHaveLength(3);
    }
    expect((await manager.prune({ maxBytes: 0, all: true })).deleted).toEqual(others);
    expect((await manager.prune({ maxBytes: 0 })).deleted).toEqual([]);
  });

  it('C9: several deletions are all or nothing', async () => {
    const { manager, workspace } = await scene();
    const [a = '', b = '', c = ''] = await several(manager, workspace, ['manual', 'manual', 'manual']);
    expect(await rejection(manager.deleteCheckpoints([a, UNKNOWN_ID]))).toMatchObject({ code: 'NOT_FOUND' });
    expect(await rejection(manager.deleteCheckpoints([a, 'x']))).toMatchObject({ details: { argument: 'ids[1]' } });
    expect(await manager.listCheckpoints()).toHaveLength(3);
    expect(await manager.deleteCheckpoints([c, a, c])).toEqual([c, a]);
    expect((await manager.listCheckpoints()).map(({ checkpointId }) => checkpointId)).toEqual([b]);
  });

  it('P7: damaged labels and pins are shown, and written anew; what was lost is told', async () => {
    const { manager, workspace, store } = await scene();
    const [id = ''] = await several(manager, workspace, ['manual']);
    const damage = async () => {
      await manager.label(id, 'mine');
      writeFileSync(join(store, 'checkpoints', id, 'marks'), 'nonsense');
      const [one] = await manager.listCheckpoints();
      expect(one).toMatchObject({ pinned: true, marksDamaged: expect.any(String) });
      expect(one?.label).toBeUndefined();
    };
    await damage();
    expect(await manager.label(id, 'new')).toBe('pin');
    expect(await manager.label(id, 'newer')).toBeUndefined();
    await manager.pin(id, false);
    await damage();
    expect(await manager.pin(id, false)).toBe('label');
    const [one] = await manager.listCheckpoints();
    expect(one).toMatchObject({ pinned: false });
    expect(one?.marksDamaged).toBeUndefined();
  });

  it('labels: replaced, removed, and left alone by the default retention', async () => {
    const { manager, workspace } = await scene();
    const [id = ''] = await several(manager, workspace, ['pre_batch', 'manual']);
    await manager.label(id, 'first');
    await manager.label(id, 'sécond');
    expect((await manager.listCheckpoints())[0]).toMatchObject({ label: 'sécond', pinned: false });
    expect((await manager.prune()).kept[0]).toEqual({ checkpointId: id, reason: 'asked_for' });
    await manager.label(id, null);
    expect((await manager.listCheckpoints())[0]?.label).toBeUndefined();
  });
});

describe('C16: a cap', () => {
  it('usage tells it; by default it is what suits the disk', async () => {
    const { home, manager } = await scene();
    const { maxBytes } = await manager.usage();
    expect(maxBytes).toBeGreaterThan(0);
    expect(maxBytes).toBeLessThanOrEqual(20 * 2 ** 30);
    await using capped = await CheckpointManager.open({ store: join(home, 'other'), maxBytes: 5 * MIB });
    expect((await capped.usage()).maxBytes).toBe(5 * MIB);
  });

  it("onFull: 'fail': STORE_FULL, nothing is lost, and the cap is not passed", async () => {
    const { home, workspace } = await scene();
    const options = { store: join(home, 'other'), maxBytes: 3 * MIB, onFull: 'fail' } as const;
    await using manager = await CheckpointManager.open(options);
    const [first = ''] = await several(manager, workspace, ['pre_batch'], MIB);
    // It would fit without the first one: however far it came, making room is what helps.
    writeFileSync(join(workspace, 'changing'), randomBytes(2.5 * MIB));
    const error = await rejection(manager.createCheckpoint(workspace, 'p', 'pre_batch'));
    expect(error).toMatchObject({
      code: 'STORE_FULL',
      retryable: false,
      details: { maxBytes: 3 * MIB, neededBytes: expect.any(Number), advice: expect.stringContaining('prune') },
    });
    expect(await idsOf(manager)).toEqual([first]);
    expect((await manager.usage()).storeBytes).toBeLessThanOrEqual(3 * MIB);
    expect(await manager.verify()).toMatchObject({ ok: true });
  });

  it("onFull: 'prune', the default: the oldest automatic ones go, others stay", async () => {
    const { home, workspace } = await scene();
    await using manager = await CheckpointManager.open({ store: join(home, 'other'), maxBytes: 6 * MIB });
    const ids = await several(
      manager,
      workspace,
      ['manual', 'pre_batch', 'pre_batch', 'pre_batch', 'pre_batch'],
      1.5 * MIB,
    );
    const left = await idsOf(manager);
    expect(left).toContain(ids[0]);
    expect(left).toContain(ids[4]);
    expect(left).not.toContain(ids[1]);
    expect((await manager.usage()).storeBytes).toBeLessThanOrEqual(6 * MIB);
    expect(await manager.verify()).toMatchObject({ ok: true });
  });

  it('G5: a guard whose store is full lets the batch run, and its log says STORE_FULL', async () => {
    const { home, workspace } = await scene();
    const warned: string[] = [];
    const silent = () => {};
    const warn = (fields: object, message: string) =>
      void warned.push(
        `${message} ${Object.values(fields).map((value) => (value instanceof Error ? `${'code' in value ? value.code : ''} ${value.message}` : value))}`,
      );
    const logger = { debug: silent, info: silent, error: silent, warn };
    await using manager = await CheckpointManager.open({ store: join(home, 'other'), maxBytes: MIB, onFull: 'fail' });
    writeFileSync(join(workspace, 'large'), randomBytes(4 * MIB));
    const driver = localDriver(manager, workspace);
    const guard = createGuard({ driver, enabled: () => true, timeoutMs: 60_000, logger });
    expect(await guard.beforeBatch({ sandboxId: workspace, turnId: 't' })).toMatchObject({
      outcome: 'failed',
      protected: false,
    });
    expect(warned.join('\n')).toContain('STORE_FULL');
    expect(await idsOf(manager)).toEqual([]);
  });
});
