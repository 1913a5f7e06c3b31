// C13 and C14 with real sandboxes of all three strategies, a real store, and a guard that works at the same time.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  CheckpointManager,
  createGuard,
  createSandbox,
  localDriver,
  PlanApplyService,
  PlanExecutor,
  runBash,
  type Strategy,
} from 'turnback';
import { describe, expect, it, onTestFinished } from 'vitest';
import { picture, rejection, scene, temporary, write } from '../node/support.js';

const STRATEGIES = ['none', 'copy_on_write', 'git_worktree'] as const satisfies Strategy[];

/** A repository, so that all strategies can isolate it, and a sandbox of it. */
async function sandboxed(strategy: Strategy) {
  const { home, workspace, manager } = await scene({ 'a.txt': 'one\n', 'sub/b.txt': 'two\n', '.gitignore': 'out\n' });
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.org', ...args], { cwd: workspace });
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-qm', 'first');
  const sandbox = await createSandbox({ resource: workspace, strategy, checkpoints: manager });
  const phases = async () => (await manager.listCheckpoints(sandbox.checkpointsId)).map(({ phase }) => phase);
  return { home, workspace, manager, sandbox, phases };
}

/** A picture without what git keeps for itself: a worktree's branch has its objects there. */
const filesOf = (directory: string) =>
  Object.fromEntries(Object.entries(picture(directory)).filter(([name]) => !/^\.\/\.git(?:\/|$)/.test(name)));

/** What an agent does before it fails. */
function havoc(path: string): void {
  rmSync(join(path, 'sub'), { recursive: true });
  writeFileSync(join(path, 'a.txt'), 'havoc\n');
  write(path, { 'junk/j.txt': 'junk\n', out: 'ignored\n' });
}

describe.each(STRATEGIES)('PlanExecutor in a sandbox of strategy %s', (strategy) => {
  it('success leaves the work, and a checkpoint before and after it', async () => {
    const { manager, sandbox } = await sandboxed(strategy);
    const executor = new PlanExecutor({ checkpointManager: manager });
    const path = await executor.runExecute('plan-1', sandbox, (given) => {
      havoc(given);
      return given;
    });
    expect(path).toBe(sandbox.path);
    expect(sandbox.status).toBe('ACTIVE');
    expect(readFileSync(join(sandbox.path, 'a.txt'), 'utf8')).toBe('havoc\n');
    const own = (await manager.listCheckpoints(sandbox.checkpointsId)).filter(({ planId }) => planId === 'plan-1');
    expect(own.map(({ phase, metadata }) => ({ phase, metadata }))).toEqual([
      { phase: 'pre_execute', metadata: {} },
      { phase: 'post_execute', metadata: { status: 'success' } },
    ]);
  });

  it('failure brings everything back, and the report undoes that', async () => {
    const { manager, sandbox } = await sandboxed(strategy);
    const before = picture(sandbox.path);
    const failure = new Error('nope');
    const thrown = await rejection(
      new PlanExecutor({ checkpointManager: manager }).runExecute('p', sandbox, (path) => {
        havoc(path);
        throw failure;
      }),
    );
    expect(thrown).toBe(failure);
    expect(thrown).toMatchObject({ rolledBack: true, rollback: { restored: true } });
    expect(picture(sandbox.path)).toEqual(before);
    await manager.undo((thrown as unknown as { rollback: { undoCheckpointId: string } }).rollback.undoCheckpointId);
    expect(readFileSync(join(sandbox.path, 'junk/j.txt'), 'utf8')).toBe('junk\n');
  });

  it('goes back to its own checkpoint, not to that of the run before', async () => {
    const { manager, sandbox } = await sandboxed(strategy);
    const executor = new PlanExecutor({ checkpointManager: manager });
    await executor.runExecute('p', sandbox, (path) => writeFileSync(join(path, 'a.txt'), 'first run\n'));
    await rejection(
      executor.runExecute('p', sandbox, (path) => {
        havoc(path);
        throw new Error('nope');
      }),
    );
    expect(readFileSync(join(sandbox.path, 'a.txt'), 'utf8')).toBe('first run\n');
  });

  it('with a manager that fails: goes on without by default, or not at all', async () => {
    const { sandbox, phases } = await sandboxed(strategy);
    const before = await phases();
    const closed = await CheckpointManager.open({ store: join(temporary(), 'store') });
    await closed.close();
    const path = await new PlanExecutor({ checkpointManager: closed }).runExecute('p', sandbox, (given) => given);
    expect(path).toBe(sandbox.path);
    const strict = new PlanExecutor({ checkpointManager: closed, onCheckpointFailure: 'abort' });
    const thrown = await rejection(strict.runExecute('p', sandbox, havoc));
    expect(thrown).toMatchObject({ code: 'CHECKPOINT_REQUIRED', cause: { code: 'POISONED' }, rolledBack: false });
    expect(readFileSync(join(sandbox.path, 'a.txt'), 'utf8')).toBe('one\n');
    expect(await phases()).toEqual(before);
  });

  it('when its checkpoint is gone the failure says so, and the work stays', async () => {
    const { manager, sandbox } = await sandboxed(strategy);
    const thrown = await rejection(
      new PlanExecutor({ checkpointManager: manager }).runExecute('p', sandbox, async (path) => {
        havoc(path);
        const all = await manager.listCheckpoints(sandbox.checkpointsId);
        for (const { checkpointId, phase } of all)
          if (phase === 'pre_execute') await manager.deleteCheckpoint(checkpointId);
        throw new Error('nope');
      }),
    );
    expect(thrown).toMatchObject({ message: 'nope', rolledBack: false, rollbackError: { code: 'NOT_FOUND' } });
    expect(readFileSync(join(sandbox.path, 'a.txt'), 'utf8')).toBe('havoc\n');
  });

  it('with a guard in the same sandbox: its checkpoints are not gone back to, and its turn begins anew (G8)', async () => {
    const { manager, sandbox, phases } = await sandboxed(strategy);
    const before = picture(sandbox.path);
    const guard = createGuard({ driver: localDriver(manager, sandbox), enabled: () => true });
    const batch = (command: string) => runBash({ sandbox, guard, turnId: 'turn-1', command });
    const thrown = await rejection(
      new PlanExecutor({ checkpointManager: manager }).runExecute('p', sandbox, async (path) => {
        writeFileSync(join(path, 'a.txt'), 'before the batch\n');
        const [first, second] = [await batch('rm -r sub'), await batch('echo junk >junk')];
        expect([first.checkpoint?.outcome, second.checkpoint?.outcome]).toEqual(['created', 'already_covered']);
        throw new Error('nope');
      }),
    );
    expect(thrown).toMatchObject({ rolledBack: true });
    expect(picture(sandbox.path)).toEqual(before);
    expect(await phases()).toEqual(expect.arrayContaining(['pre_execute', 'pre_batch', 'pre_rollback']));
    expect((await batch('echo again >a.txt')).checkpoint).toMatchObject({ outcome: 'created', late: false });
  });

  it('with a guard that blocks: a plan that it stops is rolled back', async () => {
    const { manager, sandbox } = await sandboxed(strategy);
    const before = picture(sandbox.path);
    const driver = { createCheckpoint: () => Promise.reject(new Error('no driver')) };
    const guard = createGuard({ driver, enabled: () => true, onFailure: 'block' });
    const thrown = await rejection(
      new PlanExecutor({ checkpointManager: manager }).runExecute('p', sandbox, async (path) => {
        havoc(path);
        await runBash({ sandbox, guard, turnId: 'turn-1', command: 'echo never >never' });
      }),
    );
    expect(thrown).toMatchObject({ code: 'CHECKPOINT_REQUIRED', rolledBack: true });
    expect(picture(sandbox.path)).toEqual(before);
  });
});

describe.each(['copy_on_write', 'git_worktree'] as const)(
  'PlanApplyService in a sandbox of strategy %s',
  (strategy) => {
    it('brings the work into the resource', async () => {
      const { workspace, manager, sandbox, phases } = await sandboxed(strategy);
      const path = await sandbox.enter();
      write(path, { 'c.txt': 'new\n' });
      const report = await new PlanApplyService({ checkpointManager: manager }).apply('p', sandbox);
      expect(report).toMatchObject({ committed: true, rolledBack: false, conflicts: [] });
      expect(readFileSync(join(workspace, 'c.txt'), 'utf8')).toBe('new\n');
      expect(await phases()).toContain('pre_apply');
    });

    it('conflicts: the resource stays as it is, and the sandbox as it was before the apply', async () => {
      const { workspace, manager, sandbox } = await sandboxed(strategy);
      writeFileSync(join(await sandbox.enter(), 'a.txt'), 'ours\n');
      writeFileSync(join(workspace, 'a.txt'), 'theirs\n');
      const [resource, inside] = [filesOf(workspace), picture(sandbox.path)];
      const report = await new PlanApplyService({ checkpointManager: manager }).apply('p', sandbox);
      expect(report).toMatchObject({ committed: false, conflicts: [{ path: 'a.txt' }], rolledBack: true });
      expect(filesOf(workspace)).toEqual(resource);
      expect(picture(sandbox.path)).toEqual(inside);
      // And the work can still be brought in.
      const again = await new PlanApplyService({ checkpointManager: manager }).apply('p', sandbox, {
        onConflict: strategy === 'copy_on_write' ? 'ours' : 'theirs',
      });
      expect(again.committed).toBe(true);
    });

    it('a commit that fails: its own error, and the sandbox as it was before', async () => {
      const { workspace, manager, sandbox } = await sandboxed(strategy);
      writeFileSync(join(await sandbox.enter(), 'a.txt'), 'ours\n');
      const inside = picture(sandbox.path);
      rmSync(workspace, { recursive: true });
      const thrown = await rejection(new PlanApplyService({ checkpointManager: manager }).apply('p', sandbox));
      expect(thrown).toMatchObject({ name: 'TurnbackError', rolledBack: true });
      expect(picture(sandbox.path)).toEqual(inside);
      expect(existsSync(workspace)).toBe(false);
    });

    it('executed and applied as one plan, without a manager too', async () => {
      const { workspace, manager, sandbox } = await sandboxed(strategy);
      for (const options of [{}, { checkpointManager: manager }]) {
        const name = `${Object.keys(options).length}.txt`;
        await new PlanExecutor(options).runExecute('p', sandbox, (path) => writeFileSync(join(path, name), 'x\n'));
        expect(await new PlanApplyService(options).apply('p', sandbox)).toMatchObject({ committed: true });
        expect(existsSync(join(workspace, name))).toBe(true);
      }
    });
  },
);

it('applying in place has nothing to bring anywhere (S12)', async () => {
  const { workspace, manager, sandbox, phases } = await sandboxed('none');
  writeFileSync(join(await sandbox.enter(), 'a.txt'), 'in place\n');
  const report = await new PlanApplyService({ checkpointManager: manager }).apply('p', sandbox);
  expect(report).toMatchObject({ committed: true, rolledBack: false });
  expect(readFileSync(join(workspace, 'a.txt'), 'utf8')).toBe('in place\n');
  expect(await phases()).toEqual(['pre_apply']);
});

it('plans in different sandboxes of one resource do not meet', async () => {
  const { workspace, manager, sandbox } = await sandboxed('copy_on_write');
  const other = await createSandbox({ resource: workspace, checkpoints: manager });
  onTestFinished(async () => {
    await other.cleanup({ force: true }).catch(() => {});
  });
  const executor = new PlanExecutor({ checkpointManager: manager });
  const [kept, failed] = await Promise.allSettled([
    executor.runExecute('a', sandbox, (path) => writeFileSync(join(path, 'a.txt'), 'kept\n')),
    executor.runExecute('b', other, (path) => {
      havoc(path);
      throw new Error('nope');
    }),
  ]);
  expect([kept.status, failed.status]).toEqual(['fulfilled', 'rejected']);
  expect(readFileSync(join(sandbox.path, 'a.txt'), 'utf8')).toBe('kept\n');
  expect(readFileSync(join(other.path, 'a.txt'), 'utf8')).toBe('one\n');
});

describe.each(STRATEGIES)('S4: a link in the place of the root of a sandbox of strategy %s', (strategy) => {
  /** Somebody's directory, and what puts a link to it where the sandbox's root was. */
  async function replaceable() {
    const around = await sandboxed(strategy);
    const { home, sandbox } = around;
    const host = write(join(home, 'host'), { 'precious.txt': 'precious\n', 'a.txt': 'mine\n' });
    const kept = picture(host);
    const replace = () => {
      renameSync(sandbox.path, join(home, 'away'));
      symlinkSync(host, sandbox.path);
    };
    const isUntouched = () => expect(picture(host)).toEqual(kept);
    return { ...around, host, replace, isUntouched };
  }

  it('no plan runs there, none is applied, and nothing is stored', async () => {
    const { manager, sandbox, replace, isUntouched } = await replaceable();
    await sandbox.enter();
    replace();
    const before = await manager.listCheckpoints();
    const ran: string[] = [];
    const executor = new PlanExecutor({ checkpointManager: manager });
    const refused = await rejection(executor.runExecute('p', sandbox, (path) => ran.push(path)));
    expect(refused).toMatchObject({ code: 'WORKSPACE_REPLACED' });
    if (strategy !== 'none') {
      const applied = new PlanApplyService({ checkpointManager: manager }).apply('p', sandbox);
      expect(await rejection(applied)).toMatchObject({ code: 'WORKSPACE_REPLACED' });
    }
    const taken = manager.createCheckpoint(sandbox, 'p', 'manual');
    expect(await rejection(taken)).toMatchObject({ code: 'WORKSPACE_REPLACED' });
    expect(ran).toEqual([]);
    expect(await manager.listCheckpoints()).toEqual(before);
    isUntouched();
  });

  it('a plan that puts it there and fails is not rolled back through it', async () => {
    const { manager, sandbox, replace, isUntouched } = await replaceable();
    const thrown = await rejection(
      new PlanExecutor({ checkpointManager: manager }).runExecute('p', sandbox, () => {
        replace();
        throw new Error('nope');
      }),
    );
    expect(thrown).toMatchObject({ rolledBack: false, rollbackError: { code: 'WORKSPACE_REPLACED' } });
    isUntouched();
  });

  it('P12: the guard does not say that a batch is protected', async () => {
    const { manager, sandbox, replace, isUntouched } = await replaceable();
    const driver = localDriver(manager, sandbox);
    const guard = createGuard({ driver, enabled: () => true });
    replace();
    const before = await manager.listCheckpoints();
    const { signal } = new AbortController();
    const made = driver.createCheckpoint({ sandboxId: sandbox.id, comment: 'c', signal });
    expect(await rejection(made)).toMatchObject({ code: 'WORKSPACE_REPLACED' });
    const verdict = await guard.beforeBatch({ sandboxId: sandbox.id, turnId: 't' });
    expect(verdict).toMatchObject({ outcome: 'failed', protected: false });
    const ran = runBash({ sandbox, guard, turnId: 't', command: 'echo havoc >precious.txt' });
    expect(await rejection(ran)).toMatchObject({ code: 'WORKSPACE_REPLACED' });
    expect(await manager.listCheckpoints()).toEqual(before);
    isUntouched();
  });
});
