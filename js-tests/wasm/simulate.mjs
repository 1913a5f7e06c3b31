// W11, by hand: `node js-tests/wasm/simulate.mjs`. Time of `simulate` for 100,000 batches, from the check of the scenario to the trace.
// Processor time, because it says more than the clock where others use the machine.
import { simulate } from 'turnback-policy';

const BATCHES = 100_000;
const ROUNDS = 9;

/** One batch a second, so many in a turn; one in three only reads. */
function scenario(turn, policy) {
  const batches = Array.from({ length: BATCHES }, (_, number) => ({
    sandbox: 's',
    turn: `t${Math.floor(number / turn)}`,
    startMs: number * 1000,
    durationMs: 500,
    kind: number % 3 === 0 ? 'read_only' : 'destructive',
  }));
  return { version: 1, policies: [policy], batches };
}

for (const [what, turn, policy] of [
  ['per turn, five batches each', 5, { kind: 'per_turn' }],
  ['per turn, one batch each', 1, { kind: 'per_turn' }],
  ['every batch', 5, { kind: 'every_batch' }],
  ['interval', 5, { kind: 'interval', intervalMs: 60_000 }],
]) {
  const given = scenario(turn, policy);
  const times = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage();
    simulate(given);
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  const first = times[0];
  times.sort((one, other) => one - other);
  const shown = [times[Math.floor(ROUNDS / 2)], times[0], times.at(-1), first].map((ms) => ms?.toFixed(0));
  console.log(`${what}: median ${shown[0]} ms of processor time (${shown[1]}–${shown[2]}; the first one ${shown[3]})`);
}
