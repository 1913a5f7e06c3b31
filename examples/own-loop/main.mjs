// A loop of one's own: no framework, tools that run at the same time, one checkpoint for each message.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CheckpointManager, createGuard, localDriver, runBash, turnIdOf } from 'turnback';
import { guardFunction } from 'turnback/plain';

/** What a model would say: for each message its steps, each with the commands to run at the same time. */
const MODEL = {
  'Write a report': [['echo draft > report.md', 'mkdir data'], ['echo 1,2,3 > data/a.csv']],
  'Add the licence': [['echo MIT > LICENSE']],
};

const project = mkdtempSync(join(tmpdir(), 'own-loop-'));
writeFileSync(join(project, 'README.md'), 'mine\n');
const manager = await CheckpointManager.open({ store: 'ephemeral' });
const guard = createGuard({ driver: localDriver(manager, project) });

const bash = guardFunction(({ command }) => runBash({ sandbox: project, command }), {
  guard,
  sandboxId: project,
  // Whatever shares this object is one turn.
  turnId: ({ run }) => turnIdOf(run),
});

for (const [message, steps] of Object.entries(MODEL)) {
  const run = { message };
  for (const commands of steps) await Promise.all(commands.map((command) => bash({ command, run })));
  console.log(`${message}:`, readdirSync(project).sort().join(' '));
}

// The first turn is taken back, the second one stays. Of this directory alone: a store may hold others, too.
const [first, second] = await manager.listCheckpoints(await manager.sandboxIdOf(project));
const { restored, deleted } = await manager.revert(first.checkpointId, second.checkpointId);
console.log('First turn reverted:', { restored, deleted }, readdirSync(project).sort().join(' '));

await manager.close();
rmSync(project, { recursive: true });
