// S9: who keeps a sandbox, and what becomes of those that nobody does: processes that are really killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import {
  type AttachOptions,
  attachSandbox,
  CheckpointManager,
  cleanupAbandoned,
  createSandbox,
  listDamagedSandboxes,
  listSandboxes,
} from 'turnback';
import { describe, expect, it, onTestFinished } from 'vitest';
import { node, write } from '../node/support.js';
import { git, type Place, place, refusal, repository, text } from './support.js';

const HERE = new URL('.', import.meta.url).pathname;

interface Agent {
  id: string;
  path: string;
  kill(): Promise<void>;
}

/** An agent that has made a sandbox and worked in it. */
async function agent(
  { store, resource }: Place,
  strategy: string,
  lease: string,
  work: 'work' | 'none',
): Promise<Agent> {
  const child: ChildProcess = spawn(
    process.execPath,
    [join(HERE, 'agent.mjs'), store, resource, strategy, lease, work],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const over = once(child, 'exit');
  const kill = async () => {
    child.kill('SIGKILL');
    await over;
  };
  onTestFinished(kill);
  if (child.stdout === null) throw new Error('the agent has no output');
  const [line] = (await Promise.race([
    once(createInterface(child.stdout), 'line'),
    over.then(() => Promise.reject(new Error('the agent ended'))),
  ])) as [string];
  return { ...(JSON.parse(line) as { id: string; path: string }), kill };
}

describe.each(['copy_on_write', 'git_worktree'])('%s', (strategy) => {
  async function there(): Promise<Place> {
    const all = await place();
    if (strategy === 'git_worktree') repository(all.resource);
    return all;
  }

  it('a living process keeps its sandbox from everybody', async () => {
    const all = await there();
    const one = await agent(all, strategy, 'held', 'none');
    const stored = { checkpoints: all.manager };
    expect(await listSandboxes(stored)).toEqual([
      expect.objectContaining({ id: one.id, owner: 'alive', unsaved: false, status: 'ACTIVE' }),
    ]);
    expect(await cleanupAbandoned(stored)).toEqual({ removed: [], kept: [] });
    expect(existsSync(one.path)).toBe(true);
  });

  it('killed, it leaves an orphan; a clean one goes with all that belongs to it', async () => {
    const all = await there();
    const one = await agent(all, strategy, 'held', 'none');
    await one.kill();
    const stored = { checkpoints: all.manager };
    expect(await listSandboxes(stored)).toEqual([expect.objectContaining({ id: one.id, owner: 'orphan' })]);
    const report = await cleanupAbandoned(stored);
    expect(report).toEqual({ removed: [one.id], kept: [] });
    expect(Object.isFrozen(report) && Object.isFrozen(report.removed)).toBe(true);
    expect(existsSync(one.path)).toBe(false);
    expect(await listSandboxes(stored)).toEqual([]);
    expect(await all.manager.listCheckpoints()).toEqual([]);
    if (strategy === 'git_worktree') {
      expect(git(all.resource, 'worktree', 'list').split('\n')).toHaveLength(1);
      expect(git(all.resource, 'branch', '--list').split('\n')).toHaveLength(1);
    }
  });

  it('an orphan with unsaved work stays, and can be taken over and committed', async () => {
    const all = await there();
    const one = await agent(all, strategy, 'held', 'work');
    await one.kill();
    const stored = { checkpoints: all.manager };
    expect(await listSandboxes(stored)).toEqual([
      expect.objectContaining({ id: one.id, owner: 'orphan', unsaved: true }),
    ]);
    expect(await cleanupAbandoned(stored)).toEqual({
      removed: [],
      kept: [{ id: one.id, reason: expect.stringMatching(/unsaved/) }],
    });
    expect(text(one.path, 'work.txt')).toBe('precious\n');
    const sandbox = await attachSandbox(one.id, stored);
    expect(sandbox).toMatchObject({ id: one.id, path: one.path, status: 'ACTIVE', strategy });
    expect((await listSandboxes(stored))[0]).toMatchObject({ owner: 'this_process' });
    expect(await sandbox.commit()).toMatchObject({ committed: true });
    expect(text(all.resource, 'work.txt')).toBe('precious\n');
    expect(await sandbox.cleanup()).toEqual({});
  });

  it('a detached one outlives its process until its time is over', async () => {
    const all = await there();
    const stored = { checkpoints: all.manager };
    const long = await agent(all, strategy, String(24 * 3_600_000), 'none');
    const short = await agent(all, strategy, '1', 'none');
    await Promise.all([long.kill(), short.kill()]);
    const owners = Object.fromEntries((await listSandboxes(stored)).map(({ id, owner }) => [id, owner]));
    expect(owners).toEqual({ [long.id]: 'detached', [short.id]: 'orphan' });
    expect(await cleanupAbandoned(stored)).toEqual({ removed: [short.id], kept: [] });
    expect(existsSync(long.path)).toBe(true);
  });
});

it('the lease lasts as long as the process, whether the object is kept or not', async () => {
  const { resource, store } = await place();
  // The garbage collector runs while nobody holds the object any more.
  const ran = node(
    `import { CheckpointManager, createSandbox, listSandboxes } from 'turnback';
     const checkpoints = await CheckpointManager.open({ store: ${JSON.stringify(store)} });
     await (async () => void (await createSandbox({ resource: ${JSON.stringify(resource)}, checkpoints })))();
     for (let i = 0; i < 5; i += 1) { await new Promise(setImmediate); globalThis.gc(); }
     console.log((await listSandboxes({ checkpoints })).map(({ owner }) => owner).join());`,
    { flags: ['--expose-gc'], cwd: HERE },
  );
  expect(ran).toMatchObject({ code: 0, stderr: '', stdout: 'this_process\n' });
});

it('a process ends by itself, with its sandbox and its stores still open, and the next one finds the sandbox', async () => {
  const { home, resource } = await place();
  const env = { TURNBACK_STORE: join(home, 'own') };
  const made = node(
    `import { createSandbox, SandboxManager } from 'turnback';
     const sandbox = await createSandbox({ resource: ${JSON.stringify(resource)} });
     await new SandboxManager().getOrCreate('plan', { resource: ${JSON.stringify(resource)} });
     await sandbox.enter();
     console.log(sandbox.id);`,
    { env, cwd: HERE },
  );
  expect(made).toMatchObject({ code: 0, stderr: '' });
  const found = node(
    `import { cleanupAbandoned, listSandboxes } from 'turnback';
     console.log((await listSandboxes()).map(({ owner }) => owner).join());
     console.log((await cleanupAbandoned()).removed.includes(${JSON.stringify(made.stdout.trim())}));`,
    { env, cwd: HERE },
  );
  expect(found).toMatchObject({ code: 0, stderr: '', stdout: 'orphan,orphan\ntrue\n' });
});

it('two processes at one sandbox: a commit of one is seen by the other, in its next call', async () => {
  const { copy, manager, resource, store } = await place();
  const sandbox = await copy();
  write(sandbox.path, { 'a.txt': 'changed\n' });
  const ran = node(
    `import { attachSandbox, CheckpointManager } from 'turnback';
     const checkpoints = await CheckpointManager.open({ store: ${JSON.stringify(store)} });
     const sandbox = await attachSandbox(${JSON.stringify(sandbox.id)}, { checkpoints });
     console.log((await sandbox.commit()).committed);`,
    { cwd: HERE },
  );
  expect(ran).toMatchObject({ code: 0, stderr: '', stdout: 'true\n' });
  expect(text(resource, 'a.txt')).toBe('changed\n');
  expect(await sandbox.changes()).toEqual([]);
  expect(sandbox.status).toBe('COMMITTED');
  expect(await attachSandbox(sandbox.id, { checkpoints: manager })).toBe(sandbox);
  expect(await sandbox.cleanup()).toEqual({});
});

it('a lease is prolonged when the sandbox is found again, and counts once nobody holds it', async () => {
  const { copy, manager, resource, store } = await place();
  const stored = { checkpoints: manager };
  const found = async () => (await listSandboxes(stored)).find(({ id }) => id !== mine.id);
  const mine = await copy();
  const made = node(
    `import { attachSandbox, CheckpointManager, createSandbox } from 'turnback';
     const checkpoints = await CheckpointManager.open({ store: ${JSON.stringify(store)} });
     const { id } = await createSandbox({ resource: ${JSON.stringify(resource)}, checkpoints });
     const again = await attachSandbox(id, { checkpoints, lease: { detachedForMs: 3_600_000 } });
     console.log(again.status);`,
    { cwd: HERE },
  );
  expect(made).toMatchObject({ code: 0, stderr: '', stdout: 'CREATED\n' });
  const kept = await found();
  expect(kept).toMatchObject({ owner: 'detached', unsaved: false, detachedUntil: expect.any(Date) });
  expect((await cleanupAbandoned(stored)).removed).toEqual([]);
  // By one that is held as well, and never for shorter than before.
  const again = await attachSandbox(kept?.id ?? '', { ...stored, lease: { detachedForMs: 1 } });
  expect((await found())?.detachedUntil).toEqual(kept?.detachedUntil);
  expect(await attachSandbox(again.id, { ...stored, lease: { detachedForMs: Number.MAX_SAFE_INTEGER } })).toBe(again);
  expect((await found())?.detachedUntil).toEqual(new Date(8.64e15));
  expect(await listSandboxes(stored)).toContainEqual(expect.objectContaining({ id: mine.id, owner: 'this_process' }));
  for (const lease of [{}, { detachedForMs: 0 }, { forMs: 1 }, 5]) {
    const refused = attachSandbox(again.id, { ...stored, lease } as unknown as AttachOptions);
    expect(await refusal(refused)).toMatchObject({ code: 'INVALID_ARGUMENT' });
  }
  await again.cleanup();
  await mine.cleanup();
});

it('C11: the sandboxes of an ephemeral store go with it, also from the repository', async () => {
  const { resource } = await place();
  repository(resource);
  const branches = git(resource, 'branch', '--list');
  const checkpoints = await CheckpointManager.open({ store: 'ephemeral' });
  const [worktree, copy] = [
    await createSandbox({ resource, checkpoints, strategy: 'git_worktree' }),
    await createSandbox({ resource, checkpoints }),
  ];
  write(copy.path, { 'a.txt': 'changed\n' });
  expect(git(resource, 'worktree', 'list').split('\n')).toHaveLength(2);
  await checkpoints.close();
  await checkpoints.close();
  expect([worktree.path, copy.path, `${checkpoints.storePath}-sandboxes`].filter(existsSync)).toEqual([]);
  expect(git(resource, 'worktree', 'list').split('\n')).toHaveLength(1);
  expect(git(resource, 'branch', '--list')).toBe(branches);
  expect(await refusal(copy.enter())).toMatchObject({ code: 'POISONED' });
});

it('a damaged record is told apart, and nothing of it is removed', async () => {
  const { copy, manager, store } = await place();
  const sandbox = await copy();
  const record = join(store, 'sandboxes', sandbox.id, 'record');
  expect(readdirSync(join(store, 'sandboxes'))).toEqual([sandbox.id]);
  writeFileSync(record, 'garbage');
  const stored = { checkpoints: manager };
  expect(await listSandboxes(stored)).toEqual([]);
  expect(await listDamagedSandboxes(stored)).toEqual([
    { id: sandbox.id, owner: 'this_process', reason: expect.any(String) },
  ]);
  expect(await refusal(attachSandbox(sandbox.id, stored))).toMatchObject({ code: 'CORRUPT' });
  expect(await refusal(sandbox.enter())).toMatchObject({ code: 'CORRUPT' });
  const { kept, removed } = await cleanupAbandoned(stored);
  expect(removed).toEqual([]);
  expect(kept.map(({ id }) => id)).toEqual([sandbox.id]);
  expect(existsSync(sandbox.path)).toBe(true);
  rmSync(sandbox.path, { recursive: true });
});
