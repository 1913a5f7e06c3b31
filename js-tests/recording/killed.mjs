// Records batches to the file that it is given, says so, and never closes it. To be killed.
import { createGuard } from 'turnback';
import { openRecording } from 'turnback/recording';

const recording = await openRecording({ file: process.argv[2] ?? '' });
const guard = createGuard({ driver: { createCheckpoint: async () => {} }, enabled: () => true, recording });
for (let turn = 1; ; turn += 1) {
  const batch = { sandboxId: 's', turnId: `turn ${turn}` };
  await guard.beforeBatch(batch);
  recording.ended(batch);
  if (turn % 500 === 0) process.stdout.write('.');
  await new Promise(setImmediate);
}
