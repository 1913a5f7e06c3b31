// An agent in a process of its own: STORE RESOURCE STRATEGY DETACHED_MS|held WORK. Makes a sandbox, works in it, says so, and waits to be killed.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointManager, createSandbox } from 'turnback';

const [store = '', resource = '', strategy, lease, work] = process.argv.slice(2);
const checkpoints = await CheckpointManager.open({ store, durability: 'process' });
const sandbox = await createSandbox({
  resource,
  strategy: /** @type {'copy_on_write'} */ (strategy),
  checkpoints,
  ...(lease === 'held' ? {} : { lease: { detachedForMs: Number(lease) } }),
});
await sandbox.enter();
if (work !== 'none') writeFileSync(join(sandbox.path, 'work.txt'), 'precious\n');
console.log(JSON.stringify({ id: sandbox.id, path: sandbox.path }));
setInterval(() => {}, 1 << 30);
