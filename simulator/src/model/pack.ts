import type { AttemptEvent, BatchEvent, Scenario, Simulation } from 'turnback-policy/simulate';
import { ATTEMPT_OUTCOMES, type Attempts, type Batches, OUTCOMES, type Run } from './columns.js';
import { bytes, floats, ints } from './fill.js';
import { lanesOf } from './lanes.js';

/** Numbers for texts, in the order in which they come. */
class Names {
  readonly all: string[] = [];
  readonly #places = new Map<string, number>();

  place(name: string | null | undefined): number {
    if (name === null || name === undefined) return -1;
    let place = this.#places.get(name);
    if (place === undefined) {
      place = this.all.push(name) - 1;
      this.#places.set(name, place);
    }
    return place;
  }
}

/** A scenario's batches as columns. */
export function packBatches(scenario: Scenario): Batches {
  const { batches } = scenario;
  const [sandboxes, turns, tools] = [new Names(), new Names(), new Names()];
  return {
    count: batches.length,
    origin: originOf(batches.map((batch) => batch.startMs)),
    sandbox: ints(batches, (batch) => sandboxes.place(batch.sandbox)),
    turn: ints(batches, (batch) => turns.place(batch.turn)),
    tool: ints(batches, (batch) => tools.place(batch.tool)),
    start: floats(batches, (batch) => batch.startMs),
    duration: floats(batches, (batch) => batch.durationMs),
    destructive: bytes(batches, (batch) => (batch.kind === 'destructive' ? 1 : 0)),
    recorded: batches.some((batch) => batch.attempt !== undefined),
    sandboxes: sandboxes.all,
    turns: turns.all,
    tools: tools.all,
  };
}

const DAY = 86_400_000;

/** Times that begin later than a day are counted from the first one: they are those of a calendar. */
function originOf(starts: number[]): number {
  const first = starts.reduce((least, start) => Math.min(least, start), Number.POSITIVE_INFINITY);
  return Number.isFinite(first) && first > DAY ? first : 0;
}

/** A simulation as columns: one run for each policy, in their order. */
export function packRuns(simulation: Simulation, batches: Batches): Run[] {
  const events = simulation.summaries.map(() => ({ batches: [] as BatchEvent[], attempts: [] as AttemptEvent[] }));
  for (const event of simulation.trace) {
    const mine = events[event.policy];
    if (event.type === 'batch') mine?.batches.push(event);
    else mine?.attempts.push(event);
  }
  const turns = new Map(batches.turns.map((turn, place) => [turn, place]));
  const sandboxes = new Map(batches.sandboxes.map((sandbox, place) => [sandbox, place]));
  return simulation.summaries.map((summary, policy) => {
    const mine = events[policy] ?? { batches: [], attempts: [] };
    const attempts = packAttempts(mine.attempts, turns, sandboxes);
    const run = packRun(mine.batches, mine.attempts, batches.count);
    let until = 0;
    for (const { endMs, atMs } of mine.batches) until = Math.max(until, endMs ?? atMs);
    for (const { endMs } of mine.attempts) until = Math.max(until, endMs);
    const drawn = { ...run, attempts };
    return { ...drawn, summary, until, lanes: lanesOf(batches, drawn) };
  });
}

function packAttempts(
  events: AttemptEvent[],
  turns: ReadonlyMap<string, number>,
  sandboxes: ReadonlyMap<string, number>,
): Attempts {
  return {
    count: events.length,
    number: ints(events, (event) => event.attempt),
    sandbox: ints(events, (event) => sandboxes.get(event.sandbox) ?? -1),
    turn: ints(events, (event) => (event.turn === null ? -1 : (turns.get(event.turn) ?? -1))),
    at: floats(events, (event) => event.atMs),
    end: floats(events, (event) => event.endMs),
    driverEnd: floats(events, (event) => event.driverEndMs ?? Number.NaN),
    outcome: bytes(events, (event) => ATTEMPT_OUTCOMES.indexOf(event.outcome)),
    late: bytes(events, (event) => Number(event.late)),
    kept: bytes(events, (event) => Number(event.kept)),
  };
}

function packRun(events: BatchEvent[], attempts: AttemptEvent[], count: number) {
  // By their numbers, which begin with 1 and leave none out: a map of 100,000 takes longer than all the rest of this.
  const places = new Int32Array(attempts.length + 1).fill(-1);
  for (const [place, event] of attempts.entries()) places[event.attempt] = place;
  const placeOf = (attempt: number | null) => (attempt === null ? -1 : (places[attempt] ?? -1));
  const reasons = new Names();
  const run = {
    at: new Float64Array(count),
    start: new Float64Array(count).fill(Number.NaN),
    end: new Float64Array(count).fill(Number.NaN),
    outcome: new Uint8Array(count),
    reason: new Uint8Array(count).fill(255),
    protected: new Uint8Array(count),
    late: new Uint8Array(count),
    attempt: new Int32Array(count).fill(-1),
    returnsTo: new Int32Array(count).fill(-1),
    lostMs: new Float64Array(count),
    lostBatches: new Int32Array(count),
    lostTurns: new Int32Array(count),
    reasons: reasons.all as readonly string[],
  };
  for (const event of events) {
    const at = event.batch;
    run.at[at] = event.atMs;
    run.start[at] = event.startMs ?? Number.NaN;
    run.end[at] = event.endMs ?? Number.NaN;
    run.outcome[at] = OUTCOMES.indexOf(event.outcome);
    if (event.reason !== null) run.reason[at] = reasons.place(event.reason);
    run.protected[at] = Number(event.protected);
    run.late[at] = Number(event.late);
    run.attempt[at] = placeOf(event.attempt);
    run.returnsTo[at] = placeOf(event.returnsTo);
    run.lostMs[at] = event.lostMs;
    run.lostBatches[at] = event.lostBatches;
    run.lostTurns[at] = event.lostTurns;
  }
  return run;
}
