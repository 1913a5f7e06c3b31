// S1–S12: what every strategy keeps, with every mechanism: one table of cases over all of them.
import { existsSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  attachSandbox,
  CopyOnWriteSandbox,
  createGuard,
  GitWorktreeSandbox,
  listSandboxes,
  localDriver,
  type Mechanism,
  NoSandbox,
  runBash,
  type SandboxOptions,
  type Strategy,
} from 'turnback';
import { describe, expect, it, type TestContext } from 'vitest';
import { picture, temporary, write } from '../node/support.js';
import { type Ground, ground } from './ground.js';
import {
  type AnySandbox,
  changed,
  isDeeplyFrozen,
  type Place,
  paths,
  pictureButObjects,
  place,
  refusal,
  repository,
  text,
} from './support.js';

interface Kind {
  strategy: Strategy;
  mechanism: Mechanism;
  on: Ground;
  is: unknown;
  options: Partial<SandboxOptions>;
}

const KINDS: Kind[] = [
  { strategy: 'none', mechanism: 'in_place', on: 'here', is: NoSandbox, options: {} },
  { strategy: 'copy_on_write', mechanism: 'copy', on: 'here', is: CopyOnWriteSandbox, options: { mechanism: 'copy' } },
  {
    strategy: 'copy_on_write',
    mechanism: 'reflink',
    on: 'xfs',
    is: CopyOnWriteSandbox,
    options: { mechanism: 'reflink' },
  },
  { strategy: 'copy_on_write', mechanism: 'reflink', on: 'btrfs', is: CopyOnWriteSandbox, options: {} },
  {
    strategy: 'copy_on_write',
    mechanism: 'btrfs',
    on: 'subvolume',
    is: CopyOnWriteSandbox,
    options: { mechanism: 'btrfs' },
  },
  { strategy: 'git_worktree', mechanism: 'worktree', on: 'here', is: GitWorktreeSandbox, options: {} },
];

interface World extends Place {
  kind: Kind;
  sandbox: AnySandbox;
}

type Case = [what: string, check: (world: World) => Promise<void>];

/** Those that isolate. */
const ISOLATED: Case[] = [
  [
    'S4: nothing done in it touches the resource before it is committed',
    async ({ resource, sandbox }) => {
      const before = picture(resource);
      write(sandbox.path, { 'a.txt': 'changed\n', 'new/x.txt': 'new\n' });
      rmSync(join(sandbox.path, 'b.txt'));
      await sandbox.changes();
      expect(picture(resource)).toEqual(before);
    },
  ],
  [
    'S5: changes of the resource after its creation are not seen in it',
    async ({ resource, sandbox }) => {
      write(resource, { 'a.txt': 'later\n', 'new.txt': 'later\n' });
      expect(text(sandbox.path, 'a.txt')).toBe('one\n');
      expect(await sandbox.changes()).toEqual([]);
    },
  ],
  [
    'changes() gives what differs from the baseline, frozen, and leaves the status',
    async ({ sandbox }) => {
      write(sandbox.path, { 'a.txt': 'changed\n', 'new.txt': 'new\n' });
      rmSync(join(sandbox.path, 'b.txt'));
      const found = await sandbox.changes();
      expect(changed(found.filter(({ path }) => path !== ''))).toEqual([
        'added new.txt',
        'deleted b.txt',
        'modified a.txt',
      ]);
      expect(isDeeplyFrozen(found)).toBe(true);
      expect(sandbox.status).toBe('CREATED');
    },
  ],
  [
    'S6, S7: a commit writes only what the sandbox changed, and what the resource has since stays',
    async ({ resource, sandbox }) => {
      write(sandbox.path, { 'a.txt': 'changed\n', 'new/x.txt': 'new\n' });
      rmSync(join(sandbox.path, 'b.txt'));
      write(resource, { 'own.txt': 'later\n' });
      const report = await sandbox.commit();
      expect(report).toMatchObject({ committed: true, conflicts: [], heldBack: [] });
      expect(changed(report.changes)).toEqual(
        expect.arrayContaining(['added new/x.txt', 'deleted b.txt', 'modified a.txt']),
      );
      expect(isDeeplyFrozen(report)).toBe(true);
      expect(text(resource, 'a.txt')).toBe('changed\n');
      expect(text(resource, 'new/x.txt')).toBe('new\n');
      expect(text(resource, 'own.txt')).toBe('later\n');
      expect(existsSync(join(resource, 'b.txt'))).toBe(false);
      expect(sandbox.status).toBe('COMMITTED');
    },
  ],
  [
    'S3: work goes on after a commit, and a second one carries what changed since',
    async ({ resource, sandbox }) => {
      write(sandbox.path, { 'a.txt': 'first\n' });
      await sandbox.commit();
      write(resource, { 'a.txt': 'by the user\n' });
      write(sandbox.path, { 'b.txt': 'second\n' });
      const report = await sandbox.commit();
      expect(report.committed).toBe(true);
      expect(paths(report.changes)).toEqual(['b.txt']);
      expect(text(resource, 'a.txt')).toBe('by the user\n');
      expect(text(resource, 'b.txt')).toBe('second\n');
    },
  ],
  [
    'S6, S7: with a conflict nothing is written, the paths are listed, and the work stays',
    async ({ resource, sandbox }) => {
      write(sandbox.path, { 'a.txt': 'ours\n', 'b.txt': 'fine\n' });
      write(resource, { 'a.txt': 'theirs\n' });
      const before = pictureButObjects(resource);
      const report = await sandbox.commit();
      expect(report.committed).toBe(false);
      expect(paths(report.conflicts)).toEqual(['a.txt']);
      expect(report.changes).toEqual([]);
      expect(isDeeplyFrozen(report)).toBe(true);
      expect(pictureButObjects(resource)).toEqual(before);
      expect(sandbox.status).toBe('ACTIVE');
      expect(paths(await sandbox.changes())).toEqual(['a.txt', 'b.txt']);
    },
  ],
  [
    'S3: undoCommit() puts the committed paths back and keeps later edits elsewhere; the work counts as unsaved again',
    async ({ resource, sandbox }) => {
      write(sandbox.path, { 'a.txt': 'changed\n', 'new.txt': 'new\n' });
      await sandbox.commit();
      write(resource, { 'own.txt': 'later\n' });
      const report = await sandbox.undoCommit();
      expect(report).toMatchObject({ restored: true, conflicts: [] });
      expect(isDeeplyFrozen(report)).toBe(true);
      expect(text(resource, 'a.txt')).toBe('one\n');
      expect(existsSync(join(resource, 'new.txt'))).toBe(false);
      expect(text(resource, 'own.txt')).toBe('later\n');
      expect(sandbox.status).toBe('ROLLED_BACK');
      expect(text(sandbox.path, 'a.txt')).toBe('changed\n');
      expect(await refusal(sandbox.cleanup())).toMatchObject({ code: 'UNSAVED_WORK' });
    },
  ],
  [
    'undoCommit() without a commit is NOT_UNDOABLE',
    async ({ sandbox }) => {
      await sandbox.enter();
      expect(await refusal(sandbox.undoCommit())).toMatchObject({ code: 'NOT_UNDOABLE', retryable: false });
    },
  ],
  [
    'S12: rollback() puts it back to its baseline, and work goes on',
    async ({ sandbox }) => {
      const before = picture(sandbox.path);
      await sandbox.enter();
      write(sandbox.path, { 'a.txt': 'changed\n', 'new/x.txt': 'new\n' });
      rmSync(join(sandbox.path, 'sub'), { recursive: true });
      const report = await sandbox.rollback();
      expect(report.restored).toBe(true);
      expect(isDeeplyFrozen(report)).toBe(true);
      expect(picture(sandbox.path)).toEqual(before);
      expect(sandbox.status).toBe('ROLLED_BACK');
      await sandbox.enter();
      expect(sandbox.status).toBe('ACTIVE');
    },
  ],
  [
    'S10: cleanup() refuses what was not committed; with force a checkpoint holds it',
    async ({ home, manager, sandbox }) => {
      write(sandbox.path, { 'a.txt': 'precious\n' });
      const error = await refusal(sandbox.cleanup());
      expect(error).toMatchObject({ code: 'UNSAVED_WORK', details: { changes: 1, paths: ['a.txt'] } });
      expect(existsSync(sandbox.path)).toBe(true);
      const { savedCheckpointId = '' } = await sandbox.cleanup({ force: true });
      expect(existsSync(sandbox.path)).toBe(false);
      expect(sandbox.status).toBe('CLEANED_UP');
      await manager.export(savedCheckpointId, join(home, 'saved'));
      expect(text(home, 'saved', 'a.txt')).toBe('precious\n');
    },
  ],
  [
    'disposal cleans up; it refuses, as cleanup() does, when there is unsaved work, and takes nothing away',
    async ({ create, kind }) => {
      let path = '';
      {
        await using sandbox = await create({ strategy: kind.strategy, ...kind.options });
        path = sandbox.path;
        await sandbox.enter();
      }
      expect(existsSync(path)).toBe(false);
      const dispose = async () => {
        await using sandbox = await create({ strategy: kind.strategy, ...kind.options });
        path = sandbox.path;
        write(sandbox.path, { 'a.txt': 'precious\n' });
      };
      expect(await refusal(dispose())).toMatchObject({ code: 'UNSAVED_WORK' });
      expect(text(path, 'a.txt')).toBe('precious\n');
    },
  ],
  [
    'two commits at once give one commit and one BUSY',
    async ({ resource, sandbox }) => {
      write(sandbox.path, { 'a.txt': 'changed\n' });
      const answers = await Promise.allSettled([sandbox.commit(), sandbox.commit()]);
      expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
      expect(answers[1]).toMatchObject({ reason: { code: 'BUSY', retryable: true } });
      expect(text(resource, 'a.txt')).toBe('changed\n');
      expect(sandbox.status).toBe('COMMITTED');
    },
  ],
  [
    'calls run in the order in which they were made',
    async ({ resource, sandbox }) => {
      write(sandbox.path, { 'a.txt': 'changed\n' });
      const ended: string[] = [];
      const note = (name: string) => () => ended.push(name);
      await Promise.all([
        sandbox.commit().then(note('commit')),
        sandbox.undoCommit().then(note('undo')),
        sandbox.enter().then(note('enter')),
        sandbox.rollback().then(note('rollback')),
        sandbox.cleanup().then(note('cleanup')),
      ]);
      expect(ended).toEqual(['commit', 'undo', 'enter', 'rollback', 'cleanup']);
      expect(text(resource, 'a.txt')).toBe('one\n');
      expect(sandbox.status).toBe('CLEANED_UP');
    },
  ],
  [
    'rollbackTo() of a checkpoint of it works, and is under its own id',
    async ({ manager, sandbox }) => {
      write(sandbox.path, { 'a.txt': 'kept\n' });
      const checkpoint = await manager.createCheckpoint(sandbox, 'plan', 'manual');
      expect(checkpoint).toMatchObject({ sandboxId: sandbox.id, workspace: sandbox.path });
      expect(sandbox.checkpointsId).toBe(sandbox.id);
      write(sandbox.path, { 'a.txt': 'lost\n' });
      await manager.rollbackTo(checkpoint);
      expect(text(sandbox.path, 'a.txt')).toBe('kept\n');
    },
  ],
];

/** What `none` does instead (S12). */
const IN_PLACE: Case[] = [
  [
    'writes go straight to the resource, and a commit has nothing left to do',
    async ({ resource, sandbox }) => {
      expect(sandbox.path).toBe(resource);
      write(sandbox.path, { 'a.txt': 'changed\n' });
      expect(await sandbox.commit()).toMatchObject({ committed: true, changes: [], heldBack: [] });
      expect(sandbox.status).toBe('COMMITTED');
      expect(text(resource, 'a.txt')).toBe('changed\n');
    },
  ],
  [
    'without a baseline changes(), rollback() and undoCommit() are NOT_UNDOABLE and name checkpoints',
    async ({ sandbox }) => {
      await sandbox.enter();
      for (const call of [sandbox.changes(), sandbox.rollback(), sandbox.undoCommit()]) {
        const error = await refusal(call);
        expect(error.code).toBe('NOT_UNDOABLE');
        expect(error.message).toMatch(/checkpoint/);
      }
      expect(sandbox.status).toBe('ACTIVE');
    },
  ],
  [
    'rolling back to a checkpoint works for it too',
    async ({ manager, sandbox }) => {
      const checkpoint = await manager.createCheckpoint(sandbox, 'plan', 'manual');
      expect(checkpoint.sandboxId).toBe(sandbox.checkpointsId);
      write(sandbox.path, { 'a.txt': 'changed\n' });
      await manager.rollbackTo(checkpoint);
      expect(text(sandbox.path, 'a.txt')).toBe('one\n');
      expect(await manager.listCheckpoints(sandbox.checkpointsId)).not.toEqual([]);
    },
  ],
  [
    'its cleanup leaves the resource as it is',
    async ({ resource, sandbox }) => {
      write(sandbox.path, { 'a.txt': 'changed\n' });
      const before = picture(resource);
      expect(await sandbox.cleanup()).toEqual({});
      expect(picture(resource)).toEqual(before);
    },
  ],
];

const ALL: Case[] = [
  [
    'S1, S5: it says what it is, and reading that changes nothing',
    async ({ resource, sandbox, kind, manager }) => {
      expect(sandbox).toBeInstanceOf(kind.is);
      expect(sandbox).toMatchObject({
        strategy: kind.strategy,
        mechanism: kind.mechanism,
        resource,
        status: 'CREATED',
      });
      expect(sandbox.writablePaths).toContain(sandbox.path);
      expect(sandbox.path.startsWith('/')).toBe(true);
      expect(Object.isFrozen(sandbox)).toBe(true);
      expect('planId' in sandbox).toBe(false);
      const [listed, ...others] = await listSandboxes({ checkpoints: manager });
      expect(others).toEqual([]);
      const { id, path, strategy, mechanism } = sandbox;
      const known = {
        id,
        path,
        strategy,
        mechanism,
        resource,
        status: 'CREATED',
        owner: 'this_process',
        unsaved: false,
      };
      expect(listed).toEqual(known);
      expect(Object.isFrozen(listed)).toBe(true);
    },
  ],
  [
    'S2: enter() gives the path and makes it ACTIVE, and may be called again',
    async ({ sandbox }) => {
      expect(await sandbox.enter()).toBe(sandbox.path);
      expect(sandbox.status).toBe('ACTIVE');
      expect(await sandbox.enter()).toBe(sandbox.path);
      expect(text(sandbox.path, 'sub/c.txt')).toBe('three\n');
    },
  ],
  [
    'S2: a command run in it makes it ACTIVE too, and works in it',
    async ({ sandbox }) => {
      const ran = await runBash({ sandbox, command: 'cat a.txt; pwd' });
      expect(ran).toMatchObject({ exitCode: 0, stdout: `one\n${sandbox.path}\n` });
      expect(sandbox.status).toBe('ACTIVE');
    },
  ],
  [
    'S2: a commit makes it active on its way',
    async ({ sandbox }) => {
      expect(await sandbox.commit()).toMatchObject({ committed: true });
      expect(sandbox.status).toBe('COMMITTED');
    },
  ],
  [
    'S9: contains() follows links, wherever they lead, and takes what does not exist',
    async ({ home, sandbox }) => {
      symlinkSync('/etc', join(sandbox.path, 'out'));
      symlinkSync(sandbox.path, join(home, 'in'));
      expect(sandbox.contains(join(sandbox.path, 'sub', 'not-there'))).toBe(true);
      expect(sandbox.contains(join(home, 'in', 'a.txt'))).toBe(true);
      expect(sandbox.contains(join(sandbox.path, 'out', 'passwd'))).toBe(false);
      expect(sandbox.contains(`${sandbox.path}/sub/../../x`)).toBe(false);
      expect(sandbox.contains(Buffer.from(sandbox.path))).toBe(true);
    },
  ],
  [
    'S3: once it is cleaned up every call is ILLEGAL_TRANSITION, and disposal does nothing',
    async ({ manager, sandbox }) => {
      await sandbox.enter();
      expect(await sandbox.cleanup()).toEqual({});
      expect(sandbox.status).toBe('CLEANED_UP');
      for (const call of [() => sandbox.enter(), () => sandbox.commit(), () => sandbox.cleanup()]) {
        const details = { from: 'CLEANED_UP', allowed: [] };
        expect(await refusal(call())).toMatchObject({ code: 'ILLEGAL_TRANSITION', retryable: false, details });
      }
      await sandbox[Symbol.asyncDispose]();
      expect(await listSandboxes({ checkpoints: manager })).toEqual([]);
      expect(await refusal(attachSandbox(sandbox.id, { checkpoints: manager }))).toMatchObject({ code: 'NOT_FOUND' });
    },
  ],
  [
    'attachSandbox() finds it, with its plan, as the same object',
    async ({ create, kind, manager }) => {
      const sandbox = await create({ strategy: kind.strategy, ...kind.options, planId: 'plan-7' });
      expect(sandbox.planId).toBe('plan-7');
      expect(await attachSandbox(sandbox.id, { checkpoints: manager })).toBe(sandbox);
    },
  ],
  [
    'G8, G12: a guard knows it by its id, and counts on no checkpoint from before its rollback',
    async ({ manager, sandbox, kind }) => {
      const guard = createGuard({ driver: localDriver(manager, sandbox), enabled: () => true });
      const turn = { sandbox, guard, turnId: 'turn', command: 'echo changed > a.txt' };
      expect((await runBash(turn)).checkpoint).toMatchObject({ outcome: 'created', protected: true });
      expect((await runBash(turn)).checkpoint).toMatchObject({ outcome: 'already_covered' });
      const [checkpoint] = await manager
        .listCheckpoints(sandbox.checkpointsId)
        .then((all) => all.filter(({ phase }) => phase === 'pre_batch'));
      expect(checkpoint?.workspace).toBe(sandbox.path);
      if (kind.strategy === 'none') await manager.rollbackTo(checkpoint ?? '');
      else await sandbox.rollback();
      expect((await runBash(turn)).checkpoint).toMatchObject({ outcome: 'created', late: false });
      const other = guard.beforeBatch({ sandboxId: temporary(), turnId: 'other' });
      expect(await other).toMatchObject({ outcome: 'failed', protected: false });
    },
  ],
  [
    'a call that is cancelled before its turn comes never begins',
    async ({ sandbox }) => {
      const stop = new AbortController();
      const entering = sandbox.enter();
      const committing = sandbox.commit({ signal: stop.signal });
      stop.abort(new Error('no more'));
      const error = await refusal(committing);
      expect(error).toMatchObject({ code: 'ABORTED', cause: expect.objectContaining({ message: 'no more' }) });
      await entering;
      expect(sandbox.status).toBe('ACTIVE');
      expect(await sandbox.commit()).toMatchObject({ committed: true });
    },
  ],
  [
    'once its manager is closed it says so, and its files stay',
    async ({ manager, sandbox }) => {
      await manager.close();
      for (const call of [() => sandbox.enter(), () => sandbox.commit(), () => sandbox.cleanup()]) {
        expect(await refusal(call())).toMatchObject({ code: 'POISONED' });
      }
      expect(text(sandbox.path, 'a.txt')).toBe('one\n');
    },
  ],
];

async function world(kind: Kind, context: TestContext): Promise<World> {
  const there = ground(kind.on);
  if ('reason' in there) return context.skip(there.reason);
  const all = await place(there.directory);
  if (kind.strategy === 'git_worktree') repository(all.resource);
  const sandbox = await all.create({ strategy: kind.strategy, ...kind.options });
  return { ...all, kind, sandbox };
}

describe.each(KINDS)('$strategy by $mechanism ($on)', (kind) => {
  it.for([...ALL, ...(kind.strategy === 'none' ? IN_PLACE : ISOLATED)])('%s', async ([_what, check], context) => {
    await check(await world(kind, context));
  });
});
