// S11: the sandboxes of plans: one a resource, committed together or not at all.
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AnySandbox,
  CheckpointManager,
  createGuard,
  localDriver,
  SandboxManager,
  type SandboxOptions,
} from 'turnback';
import { expect, it, onTestFinished } from 'vitest';
import { holdLock } from '../guard/lock.js';
import { temporary, write } from '../node/support.js';
import { small } from './ground.js';
import { isDeeplyFrozen, paths, refusal, repository, text } from './support.js';

interface Plans {
  home: string;
  manager: CheckpointManager;
  plans: SandboxManager;
  resources: string[];
  get(at: number, options?: Partial<SandboxOptions>): Promise<AnySandbox>;
}

/** Three resources, sorted, and a manager of their sandboxes. */
async function three(): Promise<Plans> {
  const home = temporary();
  const resources = ['a', 'b', 'c'].map((name) => write(join(home, name), { 'x.txt': 'one\n' }));
  const manager = await CheckpointManager.open({ store: join(home, 'store'), durability: 'process' });
  onTestFinished(() => manager.close());
  const plans = new SandboxManager({ checkpoints: manager });
  const get = (at: number, options?: Partial<SandboxOptions>) =>
    plans.getOrCreate('plan', { resource: resources[at] ?? '', ...options });
  return { home, manager, plans, resources, get };
}

/** All three, each with a change. */
async function changedThree(all: Plans): Promise<AnySandbox[]> {
  const sandboxes = await Promise.all([all.get(0), all.get(1), all.get(2)]);
  for (const { path } of sandboxes) write(path, { 'x.txt': 'changed\n' });
  return sandboxes;
}

it('getOrCreate gives one sandbox for each resource of a plan, also when asked twice at once', async () => {
  const { get, plans, resources } = await three();
  const [first, again, other] = await Promise.all([get(0), get(0), get(1)]);
  expect(again).toBe(first);
  expect(other).not.toBe(first);
  expect(first).toMatchObject({ planId: 'plan', strategy: 'copy_on_write', resource: resources[0] });
  const elsewhere = await plans.getOrCreate('another plan', { resource: resources[0] ?? '', planId: 'ignored' });
  expect(elsewhere).not.toBe(first);
  expect(elsewhere.planId).toBe('another plan');
  // F19, S5: nobody is given another isolation than the one asked for.
  expect(await refusal(get(0, { strategy: 'none' }))).toMatchObject({
    code: 'INVALID_ARGUMENT',
    message: expect.stringContaining('copy_on_write'),
  });
  expect(await get(0, { mechanism: 'auto' })).toBe(first);
  await first.cleanup();
  expect(await get(0)).not.toBe(first);
});

it('commitAll commits all, in the order of their resources', async () => {
  const all = await three();
  const sandboxes = await changedThree(all);
  const reports = await all.plans.commitAll('plan');
  expect(reports.map(({ committed, changes }) => [committed, paths(changes)])).toEqual([
    [true, ['x.txt']],
    [true, ['x.txt']],
    [true, ['x.txt']],
  ]);
  expect(isDeeplyFrozen(reports)).toBe(true);
  for (const resource of all.resources) expect(text(resource, 'x.txt')).toBe('changed\n');
  expect(sandboxes.map(({ status }) => status)).toEqual(['COMMITTED', 'COMMITTED', 'COMMITTED']);
  expect(await all.plans.commitAll('no such plan')).toEqual([]);
});

it('when one has a conflict, nothing is committed', async () => {
  const all = await three();
  const sandboxes = await changedThree(all);
  write(all.resources[1] ?? '', { 'x.txt': 'theirs\n' });
  const reports = await all.plans.commitAll('plan');
  expect(reports.map(({ committed }) => committed)).toEqual([false, false, false]);
  expect(reports.map(({ conflicts }) => paths(conflicts))).toEqual([[], ['x.txt'], []]);
  expect(all.resources.map((resource) => text(resource, 'x.txt'))).toEqual(['one\n', 'theirs\n', 'one\n']);
  for (const { status } of sandboxes) expect(status).not.toBe('COMMITTED');
  expect(await all.plans.commitAll('plan', { onConflict: 'ours' })).toMatchObject([
    { committed: true },
    { committed: true },
    { committed: true },
  ]);
});

it('when one fails, those before it are taken back, and its error says which', async (context) => {
  const all = await three();
  const full = join(all.home, 'full');
  const reason = small(full)?.reason;
  if (reason !== undefined) return context.skip(reason);
  const first = await all.get(0);
  const last = await all.plans.getOrCreate('plan', { resource: write(full, { 'x.txt': 'one\n' }) });
  write(first.path, { 'x.txt': 'changed\n' });
  // Only the writing itself shows that there is no room.
  write(last.path, { 'large.txt': 'x'.repeat(1 << 20) });
  const error = await refusal(all.plans.commitAll('plan'));
  expect(error).toMatchObject({ code: 'DISK_FULL', details: { undone: [first.id] } });
  expect(error.details.notUndone).toBeUndefined();
  expect(text(all.resources[0] ?? '', 'x.txt')).toBe('one\n');
  expect(first.status).toBe('ROLLED_BACK');
  rmSync(join(last.path, 'large.txt'));
  expect(await all.plans.commitAll('plan')).toMatchObject([{ committed: true }, { committed: true }]);
  expect(text(all.resources[0] ?? '', 'x.txt')).toBe('changed\n');
});

it('what cannot be undone is said before anything is written', async () => {
  const all = await three();
  const [copy, inPlace] = [await all.get(0), await all.get(1, { strategy: 'none' })];
  write(copy.path, { 'x.txt': 'changed\n' });
  expect(await refusal(all.plans.commitAll('plan'))).toMatchObject({ code: 'NOT_UNDOABLE' });
  expect(text(all.resources[0] ?? '', 'x.txt')).toBe('one\n');
  expect(inPlace.status).toBe('CREATED');
});

it('a commit of one of them at the same time is BUSY, whichever comes first', async () => {
  const all = await three();
  const [sandbox] = await changedThree(all);
  if (sandbox === undefined) throw new Error('no sandbox');
  const single = sandbox.commit();
  expect(await refusal(all.plans.commitAll('plan'))).toMatchObject({ code: 'BUSY' });
  expect(await single).toMatchObject({ committed: true });
  expect(text(all.resources[1] ?? '', 'x.txt')).toBe('one\n');
  expect(await all.plans.commitAll('plan')).toMatchObject([
    { committed: true },
    { committed: true },
    { committed: true },
  ]);
});

it('commitAll waits for the calls on its sandboxes that were made before; given up until then, it has begun nothing', async () => {
  const all = await three();
  const [sandbox] = await changedThree(all);
  if (sandbox === undefined) throw new Error('no sandbox');
  // The engine waits for somebody else, and with it the first call.
  const lock = holdLock(join(all.home, 'store', 'sandboxes', sandbox.id, 'lock'));
  const before = sandbox.changes();
  const stop = new AbortController();
  const two = [1, 2].map(() => refusal(all.plans.commitAll('plan', { signal: stop.signal })));
  expect(await Promise.race(two)).toMatchObject({ code: 'BUSY' });
  // The other one waits for its turn now.
  for (let calls = 0; calls < 5; calls += 1) await all.manager.usage();
  stop.abort();
  const [aborted] = (await Promise.all(two)).filter(({ code }) => code === 'ABORTED');
  expect(aborted?.message).toContain('nothing was begun');
  await lock.release();
  expect(paths(await before)).toEqual(['x.txt']);
  expect(await all.plans.commitAll('plan')).toMatchObject([
    { committed: true },
    { committed: true },
    { committed: true },
  ]);
});

it('strategies may be mixed', async () => {
  const all = await three();
  repository(all.resources[1] ?? '');
  const [copy, worktree] = [await all.get(0), await all.get(1, { strategy: 'git_worktree' })];
  for (const { path } of [copy, worktree]) write(path, { 'x.txt': 'changed\n' });
  expect(await all.plans.commitAll('plan')).toMatchObject([
    { committed: true },
    { committed: true, branch: expect.any(String) },
  ]);
  expect(all.resources.slice(0, 2).map((resource) => text(resource, 'x.txt'))).toEqual(['changed\n', 'changed\n']);
});

it('rollbackAll puts all back; it tries all, and says which failed', async () => {
  const all = await three();
  const sandboxes = await changedThree(all);
  const reports = await all.plans.rollbackAll('plan');
  expect(reports.map(({ restored }) => restored)).toEqual([true, true, true]);
  for (const { path, status } of sandboxes) expect([status, text(path, 'x.txt')]).toEqual(['ROLLED_BACK', 'one\n']);
  for (const { path } of sandboxes) write(path, { 'x.txt': 'again\n' });
  await sandboxes[0]?.cleanup({ force: true });
  const error = await refusal(all.plans.rollbackAll('plan'));
  expect(error).toMatchObject({
    code: 'ILLEGAL_TRANSITION',
    details: {
      failed: [{ sandboxId: sandboxes[0]?.id, code: 'ILLEGAL_TRANSITION' }],
      reports: [{ restored: true }, { restored: true }],
    },
  });
});

it('cleanupAll removes all; those that hold unsaved work refuse and stay, and force stores them', async () => {
  const all = await three();
  const sandboxes = await Promise.all([all.get(0), all.get(1), all.get(2)]);
  write(sandboxes[1]?.path ?? '', { 'x.txt': 'precious\n' });
  const error = await refusal(all.plans.cleanupAll('plan'));
  expect(error).toMatchObject({ code: 'UNSAVED_WORK', details: { failed: [{ sandboxId: sandboxes[1]?.id }] } });
  expect(sandboxes.map(({ path }) => existsSync(path))).toEqual([false, true, false]);
  expect(await all.get(1)).toBe(sandboxes[1]);
  await all.plans.cleanupAll('plan', { force: true });
  expect(existsSync(sandboxes[1]?.path ?? '')).toBe(false);
  expect(await all.manager.listCheckpoints()).toMatchObject([{ pinned: true, planId: 'plan' }]);
  await all.plans.cleanupAll('plan');
  expect(await all.plans.commitAll('plan')).toEqual([]);
});

it('all of its sandboxes are of one store', async () => {
  const { home, manager, resources } = await three();
  const plans = new SandboxManager();
  const resource = resources[0] ?? '';
  const sandbox = await plans.getOrCreate('plan', { resource, checkpoints: manager });
  expect(await plans.getOrCreate('plan', { resource })).toBe(sandbox);
  const other = await CheckpointManager.open({ store: join(home, 'other') });
  onTestFinished(() => other.close());
  expect(await refusal(plans.getOrCreate('plan', { resource, checkpoints: other }))).toMatchObject({
    code: 'INVALID_ARGUMENT',
    details: { argument: 'options.checkpoints' },
  });
});

it('G8: a guard of a resource counts on no checkpoint from before commits that were taken back', async () => {
  const all = await three();
  await changedThree(all);
  const resource = all.resources[0] ?? '';
  const guard = createGuard({ driver: localDriver(all.manager, resource), enabled: () => true });
  const turn = { sandboxId: resource, turnId: 'turn' };
  expect(await guard.beforeBatch(turn)).toMatchObject({ outcome: 'created' });
  await all.plans.commitAll('no such plan');
  expect(await guard.beforeBatch(turn)).toMatchObject({ outcome: 'already_covered' });
  write(all.resources[2] ?? '', { 'x.txt': 'theirs\n' });
  await all.plans.commitAll('plan');
  expect(await guard.beforeBatch(turn)).toMatchObject({ outcome: 'created', late: true });
});

it('bad plans and options are refused', async () => {
  const { plans, get } = await three();
  for (const call of ['commitAll', 'rollbackAll', 'cleanupAll'] as const) {
    expect(await refusal(plans[call](''))).toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: { argument: 'planId' },
    });
    const wrong = plans[call]('plan', { onConflicts: 'ours' } as object);
    expect(await refusal(wrong)).toMatchObject({ code: 'INVALID_ARGUMENT', details: { argument: 'options' } });
  }
  expect(await refusal(get(0, { seed: ['x'] }))).toMatchObject({ details: { argument: 'options.seed' } });
});
