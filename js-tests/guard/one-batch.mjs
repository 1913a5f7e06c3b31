// STORE WORKSPACE: one batch, and one while the store is paused. Two files that do not exist are looked for before and after it.
import { existsSync } from 'node:fs';
import { CheckpointManager, createGuard, localDriver } from 'turnback';

const [store = '', workspace = ''] = process.argv.slice(2);
const manager = await CheckpointManager.open({ store, durability: 'process' });
const guard = createGuard({ driver: localDriver(manager, workspace), enabled: () => true, timeoutMs: 100_000 });
existsSync('/turnback-from');
console.log((await guard.beforeBatch({ sandboxId: 'w', turnId: 'a' })).outcome);
await manager.pause();
console.log((await guard.beforeBatch({ sandboxId: 'w', turnId: 'b' })).outcome);
existsSync('/turnback-to');
await manager.close();
