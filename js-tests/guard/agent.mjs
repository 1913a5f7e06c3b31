// An agent: STORE WORKSPACE TURNS NAME. Prints the verdicts of each turn's eight parallel batches.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CheckpointManager, createGuard, localDriver } from 'turnback';

const [store = '', workspace = '', turns, name] = process.argv.slice(2);
const manager = await CheckpointManager.open({ store, durability: 'process' });
// Far beyond what a busy machine needs: these tests are about who waits for whom, not about time.
const guard = createGuard({ driver: localDriver(manager, workspace), enabled: () => true, timeoutMs: 100_000 });
for (let turn = 0; turn < Number(turns); turn += 1) {
  const turnId = `${name}-${turn}`;
  const batches = Array.from({ length: 8 }, () => guard.beforeBatch({ sandboxId: workspace, turnId }));
  const verdicts = await Promise.all(batches);
  writeFileSync(join(workspace, `${name}.txt`), `${turn}\n`);
  console.log(JSON.stringify(verdicts.map(({ outcome }) => outcome)));
}
await manager.close();
