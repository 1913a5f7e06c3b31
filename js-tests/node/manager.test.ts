// Opening and closing: C11, C10, `await using`, and what is said after the end.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointManager } from 'turnback';
import { describe, expect, it } from 'vitest';
import { node, rejection, scene, temporary, write } from './support.js';

describe('the end of a manager', () => {
  it('close may be called again; every other call then says that it is closed', async () => {
    const { manager, workspace } = await scene();
    const { checkpointId } = await manager.createCheckpoint(workspace, 'p', 'manual');
    await manager.close();
    await manager.close();
    const calls: Promise<unknown>[] = [
      manager.createCheckpoint(workspace, 'p', 'manual'),
      manager.rollbackTo(checkpointId),
      manager.listCheckpoints(),
      manager.getCheckpoint(checkpointId),
      manager.diff(checkpointId),
      manager.usage(),
      manager.coverage(checkpointId).next(),
    ];
    for (const error of await Promise.all(calls.map(rejection))) {
      expect(error).toMatchObject({ code: 'POISONED', message: expect.stringContaining('is closed') });
    }
  });

  it('close waits for the calls that run', async () => {
    const { manager, workspace, store } = await scene();
    const running = manager.createCheckpoint(workspace, 'p', 'manual');
    await manager.close();
    const { checkpointId } = await running;
    await using again = await CheckpointManager.open({ store });
    expect(await again.getCheckpoint(checkpointId)).toBeDefined();
  });

  it('C11: an ephemeral store goes with the manager, a durable one stays', async () => {
    const { workspace, store, manager } = await scene();
    await manager.createCheckpoint(workspace, 'p', 'manual');
    let path = '';
    {
      await using temporaryManager = await CheckpointManager.open({ store: 'ephemeral' });
      path = temporaryManager.storePath;
      await temporaryManager.createCheckpoint(workspace, 'p', 'manual');
      expect(existsSync(path)).toBe(true);
    }
    expect(existsSync(path)).toBe(false);
    await manager.close();
    expect(existsSync(store)).toBe(true);
  });

  it('a manager that is never closed does not keep the process alive', () => {
    const home = temporary();
    write(join(home, 'work'), { a: 'x' });
    const ran = node(
      `import { CheckpointManager } from 'turnback';
       const manager = await CheckpointManager.open({ store: process.env.HOME_OF_TEST + '/store' });
       const events = [];
       await manager.createCheckpoint(process.env.HOME_OF_TEST + '/work', 'p', 'manual', {}, { onProgress: (event) => events.push(event) });
       console.log('done');`,
      { env: { HOME_OF_TEST: home } },
    );
    expect(ran).toMatchObject({ code: 0, stdout: 'done\n', stderr: '' });
  });
});

describe('a process or a thread that ends in the middle of a call', () => {
  const MANY = Object.fromEntries(Array.from({ length: 3000 }, (_, at) => [`f${at}`, `${at}`]));

  it('process.exit() while the engine works ends as it should, and the store is sound', async () => {
    const home = temporary();
    write(join(home, 'work'), MANY);
    const ran = node(
      `import { CheckpointManager } from 'turnback';
       const manager = await CheckpointManager.open({ store: process.env.HOME_OF_TEST + '/store' });
       const onProgress = () => process.exit(7);
       await manager.createCheckpoint(process.env.HOME_OF_TEST + '/work', 'p', 'manual', {}, { onProgress });`,
      { env: { HOME_OF_TEST: home } },
    );
    expect(ran).toMatchObject({ code: 7, stdout: '', stderr: '' });
    await using manager = await CheckpointManager.open({ store: join(home, 'store') });
    expect(await manager.verify()).toMatchObject({ ok: true });
    await manager.createCheckpoint(join(home, 'work'), 'p', 'manual');
  });

  it('a worker thread that is terminated does not harm the others', () => {
    const home = temporary();
    write(join(home, 'work'), MANY);
    const ran = node(
      `import { Worker } from 'node:worker_threads';
       import { CheckpointManager } from 'turnback';
       const work = process.env.HOME_OF_TEST + '/work';
       const code = \`
         import(\${JSON.stringify(import.meta.resolve('turnback'))}).then(async ({ CheckpointManager }) => {
           const manager = await CheckpointManager.open({ store: process.env.HOME_OF_TEST + '/store' });
           const started = manager.createCheckpoint(process.env.HOME_OF_TEST + '/work', 'p', 'manual');
           require('node:worker_threads').parentPort.postMessage('started');
           await started;
         });\`;
       const worker = new Worker(code, { eval: true, execArgv: [] });
       await new Promise((resolve) => worker.once('message', resolve));
       await worker.terminate();
       await using_(await CheckpointManager.open({ store: process.env.HOME_OF_TEST + '/other' }));
       async function using_(manager) {
         const { coverage } = await manager.createCheckpoint(work, 'p', 'manual');
         console.log(coverage.files);
         await manager.close();
       }`,
      { env: { HOME_OF_TEST: home } },
    );
    expect(ran).toMatchObject({ code: 0, stdout: '3001\n', stderr: '' });
  });
});

describe('C10: several managers share one store', () => {
  it('what one makes, the other sees', async () => {
    const { manager, workspace, store } = await scene();
    await using other = await CheckpointManager.open({ store, durability: 'process', strict: true });
    const made = await Promise.all([
      manager.createCheckpoint(workspace, 'p', 'manual').catch(onlyBusy),
      other.createCheckpoint(join(workspace, 'sub'), 'p', 'manual').catch(onlyBusy),
    ]);
    const ids = (await other.listCheckpoints()).map(({ checkpointId }) => checkpointId);
    expect(ids.sort()).toEqual(made.flatMap((one) => (one === undefined ? [] : [one.checkpointId])).sort());
    expect(ids.length).toBeGreaterThan(0);
  });
});

/** Overlapping workspaces may be busy; nothing else is expected. */
function onlyBusy(error: unknown): undefined {
  expect(error).toMatchObject({ code: 'BUSY' });
}
