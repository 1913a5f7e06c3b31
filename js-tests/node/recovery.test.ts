// C8: a rollback that was interrupted, by a signal, a deadline or a kill, waits and is finished or given up.
import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Progress } from 'turnback';
import { describe, expect, it } from 'vitest';
import { DAMAGED, damaged, interrupted, MANY, workerEnds } from './interrupted.js';
import { picture, rejection, scene, turnback, write } from './support.js';

describe('C8: an interrupted rollback', () => {
  it('says what stays, how to undo it, and that it waits; pending() tells, and reading finishes nothing', async () => {
    const { manager, workspace, checkpoint } = await damaged();
    const error = await interrupted(manager, workspace, checkpoint);
    expect(error).toMatchObject({
      code: 'ABORTED',
      cause: 'enough',
      details: { pending: true, undoCheckpointId: expect.any(String) },
    });
    expect(error.message).toMatch(/was cancelled; what it did so far stays, .*recover\(\), abandon\(\)/);
    const [waiting, ...others] = await manager.pending();
    expect(others).toEqual([]);
    expect(waiting).toMatchObject({
      sandboxId: checkpoint.sandboxId,
      workspace,
      begun: {
        kind: 'rollback',
        targets: [checkpoint.checkpointId],
        undoCheckpointId: error.details.undoCheckpointId,
        startedAt: expect.any(Date),
      },
    });
    expect(Object.isFrozen(waiting) && Object.isFrozen(waiting?.begun)).toBe(true);
    const half = picture(workspace);
    await manager.diff(checkpoint.checkpointId);
    await manager.listCheckpoints();
    await manager.verify();
    expect(picture(workspace)).toEqual(half);
    expect(await manager.pending()).toHaveLength(1);
  });

  it('recover() finishes it, and again there is nothing', async () => {
    const { manager, workspace, checkpoint, before } = await damaged();
    await interrupted(manager, workspace, checkpoint);
    const report = await manager.recover(workspace);
    expect(report).toMatchObject({
      outcome: 'finished',
      workspace,
      begun: { kind: 'rollback', targets: [checkpoint.checkpointId] },
      kept: [],
      notRestorable: [],
    });
    expect(Object.isFrozen(report)).toBe(true);
    expect(picture(workspace)).toEqual(before);
    expect(await manager.pending()).toEqual([]);
    expect(await manager.recover(workspace)).toBeUndefined();
    expect(await manager.abandon(workspace)).toBeUndefined();
  });

  it('the next checkpoint finishes it first and says so', async () => {
    const { manager, workspace, checkpoint, before } = await damaged();
    await interrupted(manager, workspace, checkpoint);
    const next = await manager.createCheckpoint(workspace, 'p', 'manual');
    expect(next.recovered).toMatchObject({ outcome: 'finished', begun: { kind: 'rollback' } });
    expect(picture(workspace)).toEqual(before);
    expect(await manager.diff(checkpoint.checkpointId, next.checkpointId)).toEqual([]);
    expect((await manager.createCheckpoint(workspace, 'p', 'manual')).recovered).toBeUndefined();
  });

  it('the same rollback again, and undo, do the same', async () => {
    const { manager, workspace, checkpoint, before, ruined } = await damaged();
    const error = await interrupted(manager, workspace, checkpoint);
    const again = await manager.rollbackTo(checkpoint);
    expect(again).toMatchObject({ restored: true, recovered: { outcome: 'finished' } });
    expect(picture(workspace)).toEqual(before);
    const undone = await manager.undo(error.details.undoCheckpointId as string);
    expect(undone.restored).toBe(true);
    expect(picture(workspace)).toEqual(ruined);
  });

  it('abandon() leaves the tree as it is and says what was still to be done', async () => {
    const { manager, workspace, checkpoint } = await damaged();
    await interrupted(manager, workspace, checkpoint);
    const half = picture(workspace);
    const report = await manager.abandon(workspace);
    expect(report).toMatchObject({ outcome: 'abandoned', written: 0, deleted: 0 });
    expect(report?.actions.length).toBeGreaterThan(0);
    expect(picture(workspace)).toEqual(half);
    expect(await manager.pending()).toEqual([]);
    const left = new Set((await manager.diff(checkpoint.checkpointId)).map(({ path }) => path));
    expect(left).toEqual(new Set(report?.actions.map(({ path }) => path)));
  });

  it('what somebody changed meanwhile is left and listed; what a rollback needs cannot be deleted', async () => {
    const { manager, workspace, checkpoint } = await damaged();
    await interrupted(manager, workspace, checkpoint);
    expect(await rejection(manager.deleteCheckpoint(checkpoint.checkpointId))).toMatchObject({ code: 'BUSY' });
    expect((await manager.prune({ keepLast: 0 })).kept).toContainEqual({
      checkpointId: checkpoint.checkpointId,
      reason: 'needed_by_rollback',
    });
    writeFileSync(join(workspace, 'd0/f0'), 'mine, meanwhile\n');
    const report = await manager.recover(workspace);
    expect(report?.notRestorable).toMatchObject([{ path: 'd0/f0', reason: 'concurrent_change' }]);
    expect(readFileSync(join(workspace, 'd0/f0'), 'utf8')).toBe('mine, meanwhile\n');
  });

  it('a workspace that is gone meanwhile: nothing is touched, and it does not wait any more', async () => {
    const { manager, workspace, checkpoint } = await damaged();
    await interrupted(manager, workspace, checkpoint);
    rmSync(workspace, { recursive: true });
    expect(await manager.recover(workspace)).toMatchObject({ outcome: 'root_missing', written: 0, deleted: 0 });
    expect(await manager.pending()).toEqual([]);
  });

  it('deadlineMs: TIMED_OUT, and what was begun waits for the next call', async () => {
    const { manager, workspace, checkpoint, before } = await damaged();
    // Between a deadline that comes before the first write and one that comes after the end.
    let [short, long] = [1, 60_000];
    for (;;) {
      const deadlineMs = Math.max(1, Math.round((short + long) / 2));
      try {
        await manager.rollbackTo(checkpoint, { deadlineMs });
        long = deadlineMs;
        write(workspace, DAMAGED);
      } catch (error) {
        expect(error).toMatchObject({ code: 'TIMED_OUT', retryable: true });
        // A journal alone goes by itself when nothing was written yet.
        const { pending, begun } = (error as { details: Record<string, unknown> }).details;
        if (pending === true && begun === true) break;
        short = deadlineMs;
      }
      // The machine's speed moves: a window that closed opens again.
      if (long - short < 2) [short, long] = [1, 60_000];
    }
    expect(await manager.pending()).toHaveLength(1);
    expect((await manager.rollbackTo(checkpoint)).recovered).toMatchObject({ outcome: 'finished' });
    expect(picture(workspace)).toEqual(before);
  });

  it('deadlineMs: of what was never begun the error says that too', async () => {
    const { manager, checkpoint, ruined, workspace } = await damaged();
    const error = await rejection(manager.rollbackTo(checkpoint, { deadlineMs: 1 }));
    expect(error).toMatchObject({ code: 'TIMED_OUT', details: { begun: false, pending: false } });
    expect(picture(workspace)).toEqual(ruined);
  });

  it('of what was limited to paths the paths are named', async () => {
    const { manager, workspace, checkpoint } = await damaged();
    // All but one: few are brought back before the interruption.
    const paths = Array.from({ length: 19 }, (_, at) => `d${at}`).sort();
    await interrupted(manager, workspace, checkpoint, { paths });
    expect((await manager.pending())[0]?.begun?.paths?.map(({ path }) => path).sort()).toEqual(paths);
    const report = await manager.recover(workspace);
    expect(report?.begun?.paths?.map(({ path }) => path).sort()).toEqual(paths);
    expect(readFileSync(join(workspace, 'd19/f19'), 'utf8')).toBe('damaged\n');
  });

  it('C12: a checkpoint that is given up while it finishes one says that it waits on', async () => {
    const { manager, workspace, checkpoint } = await damaged();
    await interrupted(manager, workspace, checkpoint);
    const controller = new AbortController();
    const onProgress = ({ phase }: Progress) => void (phase === 'recover' && controller.abort('enough'));
    const limits = { signal: controller.signal, onProgress };
    const error = await rejection(manager.createCheckpoint(workspace, 'p', 'manual', {}, limits));
    expect(error).toMatchObject({ code: 'ABORTED', cause: 'enough', details: { pending: true, begun: true } });
    expect((error as Error).message).toMatch(/nothing of it is left behind, but the restore .* waits on/);
    expect(await manager.pending()).toHaveLength(1);
  });

  it('recover and abandon: after a deadline that passed it waits on, and the error says so', async () => {
    const { manager, workspace, checkpoint } = await damaged();
    await interrupted(manager, workspace, checkpoint);
    for (const method of ['recover', 'abandon'] as const) {
      // Thousands of paths take longer to look at.
      const late = await rejection(manager[method](workspace, { deadlineMs: 1 }));
      expect(late, method).toMatchObject({ code: 'TIMED_OUT', retryable: true });
      expect((late as Error).message, method).toMatch(/finishes it|then finished|waits on/);
      await workerEnds(manager, checkpoint);
      expect(await manager.pending(), method).toHaveLength(1);
    }
  });

  it('bad arguments', async () => {
    const { manager, workspace } = await scene();
    const call = (method: 'recover' | 'abandon', ...args: unknown[]) =>
      rejection((manager[method] as (...args: unknown[]) => Promise<unknown>).apply(manager, args));
    for (const method of ['recover', 'abandon'] as const) {
      for (const directory of ['', 5, null, undefined, 'a\0b']) {
        expect(await call(method, directory)).toMatchObject({
          code: 'INVALID_ARGUMENT',
          details: { argument: 'directory' },
        });
      }
      expect(await call(method, workspace, { deadlineMs: 0 })).toMatchObject({
        code: 'INVALID_ARGUMENT',
        details: { argument: 'options.deadlineMs' },
      });
      expect(await call(method, workspace, { force: true })).toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });
});

describe('a process that is killed in the middle of a rollback', () => {
  it('others are told of it, each in its way, and the next that writes finishes it', async () => {
    const { manager, workspace, store, checkpoint, before } = await damaged();
    // Killed from inside, when the first paths are in their places.
    const script = `import { CheckpointManager } from 'turnback';
      const manager = await CheckpointManager.open({ store: process.env.STORE_OF_TEST });
      const onProgress = ({ phase }) => { if (phase === 'apply') process.kill(process.pid, 'SIGKILL'); };
      await manager.rollbackTo(process.env.ID_OF_TEST, { onProgress });`;
    const env = { ...process.env, STORE_OF_TEST: store, ID_OF_TEST: checkpoint.checkpointId };
    const cwd = new URL('.', import.meta.url).pathname;
    while ((await manager.pending()).length === 0) {
      write(workspace, DAMAGED);
      spawnSync(process.execPath, ['--input-type=module', '-e', script], { env, cwd });
    }
    await manager.close();
    const half = picture(workspace);
    const run = (...args: string[]) => turnback([...args, '--store', store], { cwd: workspace });
    const note = new RegExp(
      `^turnback: an interrupted rollback of ${workspace} \\(begun \\S+ \\S+\\) waits; [^\\n]*turnback recover ${workspace} --store ${store}\\n$`,
    );
    const id = checkpoint.checkpointId;
    for (const args of [['list'], ['show', id], ['diff', id], ['verify'], ['usage'], ['doctor']]) {
      const { code, stderr } = run(...args);
      expect({ code, stderr }, args.join(' ')).toEqual({ code: 0, stderr: expect.stringMatching(note) });
      expect(run(...args, '--quiet').stderr).toBe('');
    }
    for (const command of ['list', 'usage', 'verify', 'doctor']) {
      expect(JSON.parse(run(command, '--json').stdout).pending, command).toMatchObject([
        { workspace, begun: { kind: 'rollback', targets: [id] } },
      ]);
    }
    expect(picture(workspace)).toEqual(half);
    const next = run('checkpoint');
    expect(next).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\w{26}\n {2}/) });
    expect(next.stderr).toMatch(
      new RegExp(
        `^turnback: warning: an interrupted rollback was finished first \\(workspace: ${workspace}, outcome: finished, written: \\d+, [^\\n]*\n$`,
      ),
    );
    expect(picture(workspace)).toEqual(before);
    expect(run('list').stderr).toBe('');
  });

  it('--deadline: 1, TIMED_OUT, how to go on and how to go back; undo does go back', async () => {
    const { manager, workspace, store, checkpoint } = await damaged();
    const run = (...args: string[]) => turnback([...args, '--store', store], { cwd: workspace });
    // Between a deadline that comes before the first write and one that comes after the end.
    let [short, long] = [1, 60_000];
    let stopped = '';
    for (;;) {
      const deadline = Math.max(1, Math.round((short + long) / 2));
      const { code, stderr } = run('rollback', checkpoint.checkpointId, '--deadline', `${deadline}ms`);
      if (code === 1) expect(stderr).toMatch(/^turnback: TIMED_OUT: [^\n]+\n$/);
      if ((await manager.pending()).length > 0) {
        stopped = stderr;
        break;
      }
      if (code === 0) long = deadline;
      else short = deadline;
      write(workspace, DAMAGED);
      if (long - short < 2) [short, long] = [1, 60_000];
    }
    expect(stopped).toMatch(/`turnback recover --store \S+`/);
    const undo = /to take back what it did: turnback undo (\w{26}) --store \S+\n$/.exec(stopped)?.[1] ?? '';
    const undone = run('undo', undo);
    expect(undone).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('warning: an interrupted rollback was finished first'),
    });
    const names = Object.keys(MANY);
    expect(names.filter((name) => readFileSync(join(workspace, name), 'utf8') !== 'damaged\n')).toEqual([]);
  });

  it('what a recovery left is listed by the command that came upon it, which exits with 3', async () => {
    const { manager, workspace, store, checkpoint } = await damaged();
    const run = (...args: string[]) => turnback([...args, '--store', store], { cwd: workspace });
    const left =
      /ended:\n {2}The rollback that was begun [^\n]+ was finished\.\n[\s\S]*\n {2}Not restorable, 1 path:\n {4}d0\/f0 {2}\(concurrent_change: [^\n]+\)\n/;
    const begin = async () => {
      write(workspace, DAMAGED);
      const { details } = await interrupted(manager, workspace, checkpoint);
      writeFileSync(join(workspace, 'd0/f0'), 'mine, meanwhile\n');
      return details.undoCheckpointId as string;
    };
    const undo = await begin();
    const made = run('checkpoint');
    expect(made).toMatchObject({ code: 3, stdout: expect.stringMatching(left) });
    expect(made.stdout).toContain(`its own undo: turnback undo ${undo} --store ${store}\n`);
    expect(made.stderr).toMatch(/notRestorable: 1, left: d0\/f0 \(concurrent_change\)\)\n$/);
    await begin();
    const json = run('checkpoint', '--json', '--allow-partial');
    expect(json.code).toBe(0);
    expect(JSON.parse(json.stdout).recovered.notRestorable).toMatchObject([{ path: 'd0/f0' }]);
    await begin();
    const part = run('rollback', checkpoint.checkpointId, '--path', 'd1');
    expect(part).toMatchObject({ code: 3, stdout: expect.stringMatching(left) });
    await begin();
    // All of it was gone over again.
    const whole = run('rollback', checkpoint.checkpointId);
    expect(whole).toMatchObject({ code: 0, stdout: expect.stringMatching(left) });
    expect(readFileSync(join(workspace, 'd0/f0'), 'utf8')).toBe('0\n');
  });

  it('recover, and recover --abandon', async () => {
    const { manager, workspace, store, checkpoint, before } = await damaged();
    await interrupted(manager, workspace, checkpoint);
    const run = (...args: string[]) => turnback([...args, '--store', store], { cwd: workspace });
    const elsewhere = run('recover', store);
    expect(elsewhere).toMatchObject({ code: 0, stdout: `Nothing was interrupted in ${store}.\n` });
    expect(elsewhere.stderr).toContain(`turnback recover ${workspace}`);
    const done = run('recover');
    expect(done.code).toBe(0);
    expect(done.stdout).toMatch(
      /was finished\.\n {2}[\d,]+ paths written, 0 paths deleted now\nTo go back to before it was begun: turnback undo \w{26} --store \S+\n$/,
    );
    expect(picture(workspace)).toEqual(before);
    expect(run('recover', '--json')).toMatchObject({ code: 0, stdout: '{\n  "recovered": null\n}\n' });

    write(workspace, DAMAGED);
    await interrupted(manager, workspace, checkpoint);
    const half = picture(workspace);
    const given = run('recover', '--abandon');
    expect(given.code).toBe(0);
    expect(given.stdout).toMatch(/was given up; the tree stays as it is\.\nWhat it had not taken back yet:\nM d/);
    expect(picture(workspace)).toEqual(half);
  });
});
