/** The simulator's other thread: reads scenarios and runs them, so that the page never stands still. */
import { isTurnbackError } from 'turnback-policy';
import { parseScenario, type Scenario, simulate } from 'turnback-policy/simulate';
import { type Batches, buffersOf } from '../model/columns.js';
import { csv } from '../model/csv.js';
import { bytes } from '../model/format.js';
import { decodeLink, encodeLink, LONGEST_LINK, type Setup } from '../model/link.js';
import { packBatches, packRuns } from '../model/pack.js';
import { BUILTINS } from '../scenarios/index.js';
import { type Answers, type Loaded, type Reply, type Request, type Source, setupOf, type Trouble } from './protocol.js';
import { readText } from './read-text.js';

/** The scenario that is open. */
interface Open {
  readonly scenario: Scenario;
  readonly batches: Batches;
  readonly builtin?: string;
}

let open: Open | undefined;

/** The open scenario with the reader's set-up. */
function current(setup: Setup): { scenario: Scenario; open: Open } {
  if (open === undefined) throw new Error('No scenario is open.');
  return { open, scenario: { ...open.scenario, ...setup, policies: [...setup.policies] } };
}

function builtin(id: string): Scenario {
  const found = BUILTINS.find((one) => one.id === id);
  if (found === undefined)
    throw new Error(`There is no built-in scenario "${id}": the link is from another version of this page.`);
  return found.make();
}

/** What was read, and what should be said of it. */
interface ReadScenario {
  readonly scenario: Scenario;
  readonly builtin?: string;
  /** What it is called if it says nothing itself. */
  readonly fallback?: string;
  readonly notes?: readonly string[];
}

async function read(source: Source): Promise<ReadScenario> {
  if (source.kind === 'builtin') return { scenario: builtin(source.id), builtin: source.id };
  if (source.kind === 'text') {
    return { ...(await readText(source.text)), fallback: source.name };
  }
  const linked = await decodeLink(source.fragment);
  if (linked === undefined) throw new Error('The link holds no scenario.');
  const batches =
    typeof linked.builtin === 'string' ? builtin(linked.builtin) : (linked.scenario as Scenario | undefined);
  // Whoever made the link may have written anything into it: all of it is read as a file is.
  const scenario = parseScenario(JSON.stringify({ ...batches, ...(linked.setup as Setup | undefined) }));
  return typeof linked.builtin === 'string' ? { scenario, builtin: linked.builtin } : { scenario };
}

async function load(source: Source): Promise<Loaded> {
  const { scenario, builtin, fallback, notes = [] } = await read(source);
  const batches = packBatches(scenario);
  open = { scenario, batches, ...(builtin === undefined ? {} : { builtin }) };
  return {
    ...(builtin === undefined ? {} : { builtin }),
    name: scenario.name ?? fallback ?? 'A scenario without a name',
    description: scenario.description ?? '',
    setup: setupOf(scenario),
    // The worker keeps its own.
    batches: structuredClone(batches),
    notes,
  };
}

function run(setup: Setup): Answers['run'] {
  const { scenario, open } = current(setup);
  const from = performance.now();
  const simulation = simulate(scenario);
  const tookMs = performance.now() - from;
  return { runs: packRuns(simulation, open.batches), tookMs };
}

function exported(format: 'json' | 'csv' | 'scenario', setup: Setup): string {
  const { scenario, open } = current(setup);
  if (format === 'scenario') return `${JSON.stringify(scenario, null, 2)}\n`;
  const simulation = simulate(scenario);
  return format === 'json'
    ? `${JSON.stringify({ scenario, simulation }, null, 1)}\n`
    : csv(open.batches, packRuns(simulation, open.batches));
}

async function link(setup: Setup): Promise<Answers['link']> {
  const { scenario, open } = current(setup);
  const fragment = await encodeLink(
    open.builtin === undefined ? { scenario, setup } : { builtin: open.builtin, setup },
  );
  if (fragment.length > LONGEST_LINK) {
    throw new Error(
      `This scenario is too long for a link (${bytes(fragment.length)}): save it as a file and send that.`,
    );
  }
  return { fragment };
}

async function answer(request: Request): Promise<unknown> {
  switch (request.type) {
    case 'load':
      return await load(request.source);
    case 'run':
      return run(request.setup);
    case 'export':
      return exported(request.format, request.setup);
    case 'link':
      return await link(request.setup);
  }
}

function troubleOf(error: unknown): Trouble {
  const message = error instanceof Error ? error.message : String(error);
  if (!isTurnbackError(error)) return { message };
  const { line, column, path } = error.details;
  return {
    message,
    ...(typeof line === 'number' ? { line } : {}),
    ...(typeof column === 'number' ? { column } : {}),
    ...(typeof path === 'string' ? { path } : {}),
  };
}

const scope = self as unknown as Pick<Worker, 'postMessage'> & {
  onmessage: ((event: MessageEvent<{ id: number; request: Request }>) => void) | null;
};

scope.onmessage = async ({ data: { id, request } }) => {
  try {
    const value = await answer(request);
    scope.postMessage({ id, answer: value } satisfies Reply, buffersOf(value));
  } catch (error) {
    scope.postMessage({ id, trouble: troubleOf(error) } satisfies Reply);
  }
};
