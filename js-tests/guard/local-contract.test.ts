// G12: the local driver keeps the contract of all drivers, with the real engine behind it.
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointManager, localDriver } from 'turnback';
import { driverContract, type Hold, type World } from '../contract/driver.js';
import { temporary, write } from '../node/support.js';
import { holdLock } from './lock.js';

async function localWorld(): Promise<World> {
  const home = temporary();
  const workspace = write(join(home, 'work'), { 'a.txt': 'one\n' });
  const manager = await CheckpointManager.open({ store: join(home, 'store') });
  const sandboxId = await manager.sandboxIdOf(workspace);
  const driver = localDriver(manager, workspace);
  let failing = false;
  return {
    driver: {
      ...driver,
      createCheckpoint: (request) => {
        if (!failing) return driver.createCheckpoint(request);
        failing = false;
        const away = join(home, 'away');
        renameSync(workspace, away);
        return driver.createCheckpoint(request).finally(() => renameSync(away, workspace));
      },
    },
    sandboxId: 'the caller’s own name for it',
    published: async () => (await manager.listCheckpoints()).map(({ checkpointId }) => checkpointId),
    // The workspace's lock is held elsewhere: the engine has begun, and waits.
    hold: (): Hold => {
      const lock = holdLock(join(home, 'store', 'locks', sandboxId));
      return { reached: new Promise((resolve) => setImmediate(resolve)), release: () => lock.release() };
    },
    fail: () => {
      failing = true;
    },
    close: () => manager.close(),
  };
}

driverContract('the local engine', localWorld);
