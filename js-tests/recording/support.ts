// What the tests of recordings share: a guard that records, in a time that only moves when told to, and the lines of its file.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Batch, createGuard, type Driver, type GuardOptions } from 'turnback';
import { openRecording, type RecordingOptions } from 'turnback/recording';
import type { ScenarioBatch } from 'turnback-policy/simulate';
import { FakeClock, FakeDriver, FakeLog } from '../guard/support.js';
import { temporary } from '../node/support.js';

/** A guard that records to a new file. The flag is on, whatever the environment says. */
export async function scene(options: GuardOptions = {}, recorded: Partial<RecordingOptions> = {}) {
  const [clock, driver, log] = [new FakeClock(), new FakeDriver(), new FakeLog()];
  const file = join(temporary(), 'day.jsonl');
  const recording = await openRecording({ file, clock, logger: log, ...recorded });
  const guard = createGuard({ driver, clock, enabled: () => true, recording, ...options });
  const asked = (turnId: string | undefined, sandboxId = 's', more: Partial<Batch> = {}) => {
    const batch: Batch = { sandboxId, turnId, ...more };
    return { batch, verdict: guard.beforeBatch(batch) };
  };
  /** What is in the file in the end, line by line. */
  const lines = async () => {
    const report = await recording.close();
    const text = readFileSync(file, 'utf8');
    const [head, ...batches] = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    return { report, text, head, batches: batches as ScenarioBatch[] };
  };
  return { clock, driver, log, file, recording, guard, asked, lines };
}

/** A driver that answers at once. */
export const prompt = (
  answer: () => Promise<{ checkpointId: string }> = async () => ({ checkpointId: 'v' }),
): Driver => ({
  createCheckpoint: answer,
});
