// W8: the time of a batch that is already covered, from JavaScript. By hand: node js-tests/guard/covered.mjs
// Processor time, not time on the wall: on a busy machine that says little.
import * as native from 'turnback';
import * as policy from 'turnback-policy';

const BATCHES = 100_000;
const ROUNDS = 9;
const FLAG = 'SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH';

/** @param {() => unknown} work */
async function nanoseconds(work) {
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    rounds.push(((user + system) * 1000) / BATCHES);
  }
  return rounds.sort((a, b) => a - b).map(Math.round);
}

for (const [name, turnback] of Object.entries({ native, wasm: policy })) {
  for (const [how, flag, enabled] of [
    ['enabled is a function', undefined, () => true],
    ['the flag is set', 'true', undefined],
    ['the flag is not set', undefined, undefined],
  ]) {
    if (flag === undefined) delete process.env[FLAG];
    else process.env[FLAG] = flag;
    const driver = { createCheckpoint: async () => ({ checkpointId: '01ARZ3NDEKTSV4RRFFQ69G5FAV' }) };
    const guard = turnback.createGuard({ driver, enabled });
    const batch = { sandboxId: '01JZ4Q8M3N5P7R9T1V3X000001', turnId: '0d1c2b3a-4f5e-4a6b-8c7d-9e8f7a000001' };
    await guard.beforeBatch(batch);
    const other = { ...batch, turnId: '0d1c2b3a-4f5e-4a6b-8c7d-9e8f7a000002' };
    await guard.beforeBatch(other);
    const called = await nanoseconds(() => {
      for (let at = 0; at < BATCHES; at += 1) guard.beforeBatch(batch);
    });
    const awaited = await nanoseconds(async () => {
      for (let at = 0; at < BATCHES; at += 1) await guard.beforeBatch(batch);
    });
    const inTurns = await nanoseconds(() => {
      for (let at = 0; at < BATCHES; at += 1) guard.beforeBatch(at % 2 === 0 ? batch : other);
    });
    const { outcome } = await guard.beforeBatch(batch);
    const times = `${called[4]} ns a call, ${awaited[4]} ns awaited, ${inTurns[4]} ns two turns by turns (best ${called[0]})`;
    console.log(`${name}, ${how}: ${outcome}; ${times}`);
  }
}
