// Errors: typed, with code, cause and advice, and known across realms and copies of the package.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { CheckpointManager, isTurnbackError, TurnbackError } from 'turnback';
import { describe, expect, it } from 'vitest';
import { node, rejection, scene, temporary, write } from './support.js';

it('a logger that rejects ends nothing (G5)', () => {
  const script = `
    import { CheckpointManager } from 'turnback';
    const log = async () => { throw new Error('no'); };
    const logger = { debug: log, info: log, warn: log, error: log };
    const manager = await CheckpointManager.open({ store: 'ephemeral', logger });
    await manager.close();
    await new Promise(setImmediate);
    process.stdout.write('done');
  `;
  expect(node(script)).toMatchObject({ code: 0, stdout: 'done', stderr: '' });
});

describe('TurnbackError', () => {
  it('says what was tried and what to do, keeps the cause, and is frozen in its details', async () => {
    const { manager, home } = await scene();
    const missing = join(home, 'missing\n');
    const error = await rejection(manager.createCheckpoint(missing, 'p', 'manual'));
    expect(error).toBeInstanceOf(TurnbackError);
    if (!isTurnbackError(error)) throw new Error('not ours');
    expect(error.code).toBe('NOT_FOUND');
    expect(error.retryable).toBe(false);
    expect(error.message).not.toContain('\n');
    expect(error.details).toMatchObject({ advice: expect.any(String), path: missing });
    expect(Object.isFrozen(error.details)).toBe(true);
    expect(existsSync(missing)).toBe(false);

    const refused = await rejection(CheckpointManager.open({ store: '/dev/null/store' }));
    expect(refused).toMatchObject({
      code: 'NOT_A_DIRECTORY',
      cause: { message: expect.stringContaining('Not a directory') },
    });
  });

  it('is known by its marker across realms and copies, where instanceof fails', () => {
    const foreign: unknown = runInNewContext(
      `const error = new Error('x'); Object.defineProperty(error, Symbol.for('turnback.error'), { value: true }); error.code = 'BUSY'; error`,
    );
    expect(foreign instanceof Error).toBe(false);
    expect(isTurnbackError(foreign)).toBe(true);
    const here = new TurnbackError('BUSY', 'x', { retryable: true });
    const there: unknown = runInNewContext(`error[Symbol.for('turnback.error')] === true`, { error: here });
    expect(there).toBe(true);
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const other of [new Error('x'), { code: 'BUSY' }, null, undefined, 'x', 5, proxy])
      expect(isTurnbackError(other)).toBe(false);
  });

  it('takes options and signals from another realm', async () => {
    const { manager, workspace } = await scene();
    const options = runInNewContext(`({ label: 'from there', exclude: ['x'] })`);
    const bytes = runInNewContext(`Uint8Array.from(bytes)`, { bytes: [...Buffer.from(workspace)] });
    const made = await manager.createCheckpoint(bytes, 'p', 'manual', runInNewContext(`({ a: 'b' })`), options);
    expect(made.metadata).toEqual({ a: 'b' });
  });
});

describe('a store that cannot be used', () => {
  it('inside the workspace, or around it', async () => {
    const home = temporary();
    const workspace = write(join(home, 'work'), { a: 'x' });
    await using inside = await CheckpointManager.open({ store: join(workspace, 'store') });
    expect(await rejection(inside.createCheckpoint(workspace, 'p', 'manual'))).toMatchObject({ code: 'STORE_NESTED' });
    const store = join(home, 'store');
    await using around = await CheckpointManager.open({ store });
    const within = write(join(store, 'work'), { a: 'x' });
    expect(await rejection(around.createCheckpoint(within, 'p', 'manual'))).toMatchObject({ code: 'STORE_NESTED' });
    expect(await rejection(around.createCheckpoint(store, 'p', 'manual'))).toMatchObject({ code: 'STORE_NESTED' });
  });
});
