// S1: what can never be right is refused with INVALID_ARGUMENT, names the option, and leaves nothing behind.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  attachSandbox,
  type CheckpointManager,
  CopyOnWriteSandbox,
  cleanupAbandoned,
  createSandbox,
  listSandboxes,
  localDriver,
  SandboxManager,
  type SandboxOptions,
} from 'turnback';
import { describe, expect, it } from 'vitest';
import { temporary } from '../node/support.js';
import { place, refusal, repository } from './support.js';

/** As a caller without types has it. */
const make = createSandbox as (options?: unknown) => Promise<unknown>;

const OPTIONS: [what: string, wrong: object, argument: string][] = [
  ['an unknown strategy', { strategy: 'docker' }, 'options.strategy'],
  ['a strategy that is a property of every object', { strategy: 'constructor' }, 'options.strategy'],
  ['an unknown mechanism', { mechanism: 'magic' }, 'options.mechanism'],
  ['a mechanism without a copy', { strategy: 'none', mechanism: 'copy' }, 'options.mechanism'],
  ['a mechanism of a worktree', { strategy: 'git_worktree', mechanism: 'reflink' }, 'options.mechanism'],
  ['no resource', { resource: undefined }, 'options.resource'],
  ['a resource that is a number', { resource: 7 }, 'options.resource'],
  ['a resource with a NUL byte', { resource: '/tmp/\0' }, 'options.resource'],
  ['an empty plan', { planId: '' }, 'options.planId'],
  ['a plan of control characters', { planId: 'a\nb' }, 'options.planId'],
  ['seeds of a copy', { seed: ['node_modules'] }, 'options.seed'],
  ['seeds that are no list', { strategy: 'git_worktree', seed: 'node_modules' }, 'options.seed'],
  ['a seed outside', { strategy: 'git_worktree', seed: ['fine', '../x'] }, 'options.seed[1]'],
  ['an absolute seed', { strategy: 'git_worktree', seed: ['/etc'] }, 'options.seed[0]'],
  ['a seed in .git', { strategy: 'git_worktree', seed: ['sub/.git/config'] }, 'options.seed[0]'],
  ['carried changes of a copy', { carryChanges: true }, 'options.carryChanges'],
  ['carryChanges that is a text', { strategy: 'git_worktree', carryChanges: 'yes' }, 'options.carryChanges'],
  ['a lease that is a number', { lease: 5 }, 'options.lease'],
  ['a lease that says nothing', { lease: {} }, 'options.lease'],
  ['a lease of no time', { lease: { detachedForMs: 0 } }, 'options.lease.detachedForMs'],
  ['a lease with a misspelt name', { lease: { detachedMs: 1 } }, 'options.lease'],
  ['a location that is a number', { location: 1 }, 'options.location'],
  ['a location in place', { strategy: 'none', location: '/tmp/x' }, 'options.location'],
  ['a limit of no number', { maxFiles: -1 }, 'options.maxFiles'],
  ['a manager that is none', { checkpoints: {} }, 'options.checkpoints'],
  ['a signal that is none', { signal: {} }, 'options.signal'],
  ['a listener that is none', { onProgress: 'loud' }, 'options.onProgress'],
  ['a misspelt option', { ressource: '/x' }, 'options'],
];

it.each(OPTIONS)('createSandbox: %s', async (_what, wrong, argument) => {
  const { resource, manager } = await place();
  const error = await refusal(make({ resource, checkpoints: manager, ...wrong }));
  expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', retryable: false, details: { argument } });
  expect(error.message).toContain(argument);
  expect(error.message.split('\n')).toHaveLength(1);
  expect(await listSandboxes({ checkpoints: manager })).toEqual([]);
});

it('an unknown strategy is refused with the list of valid ones', async () => {
  const { create } = await place();
  const error = await refusal(create({ strategy: 'docker' as SandboxOptions['strategy'] }));
  expect(error.message).toMatch(/none, copy_on_write, git_worktree/);
});

it('createSandbox without options, and with what are none', async () => {
  expect(await refusal(make())).toMatchObject({ code: 'INVALID_ARGUMENT', details: { argument: 'options.resource' } });
  expect(await refusal(make('/tmp'))).toMatchObject({ code: 'INVALID_ARGUMENT', details: { argument: 'options' } });
});

describe('of the calls of a sandbox', () => {
  const CALLS: [call: string, wrong: object, argument: string][] = [
    ['commit', { onConflict: 'mine' }, 'options.onConflict'],
    ['commit', { merge: 'rebase' }, 'options.merge'],
    ['commit', { merge: 'branch' }, 'options.merge'],
    ['commit', { message: 'a message' }, 'options.message'],
    ['commit', { textMerge: 1 }, 'options.textMerge'],
    ['commit', { allowGit: 'yes' }, 'options.allowGit'],
    ['commit', { allowTrusted: null }, 'options.allowTrusted'],
    ['commit', { signal: 'stop' }, 'options.signal'],
    ['commit', { force: true }, 'options'],
    ['changes', { signal: 1 }, 'options.signal'],
    ['rollback', { force: true }, 'options'],
    ['undoCommit', { onProgress: 1 }, 'options.onProgress'],
    ['cleanup', { force: 'yes' }, 'options.force'],
  ];

  it.each(CALLS)('%s(%j)', async (call, wrong, argument) => {
    const { copy } = await place();
    const sandbox = await copy();
    const run = sandbox[call as 'commit'].bind(sandbox) as (options: unknown) => Promise<unknown>;
    expect(await refusal(run(wrong))).toMatchObject({ code: 'INVALID_ARGUMENT', details: { argument } });
    expect(sandbox.status).toBe('CREATED');
  });

  it('what only another strategy has is refused, and what asks for nothing is not', async () => {
    const { resource, worktree } = await place();
    repository(resource);
    const sandbox = await worktree({ mechanism: 'auto', seed: [] });
    expect(await refusal(sandbox.commit({ allowGit: true }))).toMatchObject({
      details: { argument: 'options.allowGit' },
    });
    for (const message of ['', ' \n', 'a\0b', 7 as unknown as string]) {
      expect(await refusal(sandbox.commit({ message }))).toMatchObject({ details: { argument: 'options.message' } });
    }
    expect(await sandbox.commit({ allowGit: false, merge: 'merge' })).toMatchObject({ committed: true });
  });

  it('contains() takes paths only', async () => {
    const { copy } = await place();
    const sandbox = await copy();
    expect(() => sandbox.contains(7 as unknown as string)).toThrow(/path is no path/);
  });
});

it('ids and stores of the other functions', async () => {
  const { manager } = await place();
  const lists = [attachSandbox, listSandboxes, cleanupAbandoned] as ((...given: unknown[]) => Promise<unknown>)[];
  for (const call of lists) {
    const given = call === (attachSandbox as unknown) ? ['ws-1'] : [];
    const error = await refusal(call(...given, { checkpoints: 'here' }));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', details: { argument: 'options.checkpoints' } });
  }
  for (const id of ['', 7, null, 'x'.repeat(300)]) {
    const error = await refusal(attachSandbox(id as string, { checkpoints: manager }));
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', details: { argument: 'id' } });
  }
  expect(await refusal(attachSandbox('ws-none', { checkpoints: manager }))).toMatchObject({ code: 'NOT_FOUND' });
  expect(await refusal(attachSandbox('../x', { checkpoints: manager }))).toMatchObject({
    code: expect.stringMatching(/NOT_FOUND|INVALID_ARGUMENT/),
  });
  expect(() => localDriver(manager, {} as string)).toThrow(/target is no path/);
  expect(() => new SandboxManager({ checkpoints: 1 as unknown as CheckpointManager })).toThrow(/options.checkpoints/);
  expect(() => Reflect.construct(CopyOnWriteSandbox, [])).toThrow(/createSandbox/);
});

it('what is wrong with a resource has its own code', async () => {
  const { create, home, store } = await place();
  writeFileSync(join(home, 'file'), '');
  const expected: [string, string][] = [
    [join(home, 'missing'), 'NOT_FOUND'],
    [join(home, 'file'), 'NOT_A_DIRECTORY'],
    ['/', 'TOO_BROAD'],
    [store, 'STORE_NESTED'],
    [home, 'STORE_NESTED'],
  ];
  for (const [resource, code] of expected) expect(await refusal(create({ resource }))).toMatchObject({ code });
  expect(await refusal(create({ maxFiles: 1 }))).toMatchObject({ code: 'TOO_BROAD' });
  expect(await refusal(create({ strategy: 'git_worktree' }))).toMatchObject({ code: 'GIT_UNSUPPORTED' });
  expect(await refusal(create({ mechanism: 'btrfs' }))).toMatchObject({ code: 'UNSUPPORTED_FILESYSTEM' });
  expect(existsSync(join(home, 'store-sandboxes'))).toBe(false);
});

it('a closed manager is POISONED', async () => {
  const { create, manager } = await place();
  await manager.close();
  expect(await refusal(create())).toMatchObject({ code: 'POISONED' });
  expect(await refusal(listSandboxes({ checkpoints: manager }))).toMatchObject({ code: 'POISONED' });
});

it('without a manager the user’s own store is used, and is that of the environment', async () => {
  const { resource } = await place();
  const before = process.env.TURNBACK_STORE;
  const stores = [join(temporary(), 'one'), join(temporary(), 'two')];
  try {
    for (const store of stores) {
      process.env.TURNBACK_STORE = store;
      const sandbox = await createSandbox({ resource });
      expect((await listSandboxes()).map(({ id }) => id)).toEqual([sandbox.id]);
      expect(await attachSandbox(sandbox.id)).toBe(sandbox);
      await sandbox.cleanup();
      expect(await cleanupAbandoned()).toEqual({ removed: [], kept: [] });
      expect(existsSync(store)).toBe(true);
    }
  } finally {
    if (before === undefined) delete process.env.TURNBACK_STORE;
    else process.env.TURNBACK_STORE = before;
  }
});
