import { readFile } from 'node:fs/promises';
import { systemError } from '../../bash/system-error.js';
import { isReadOnly } from '../../read-only.js';
import type { Command, Given } from '../command.js';
import { EXIT, UsageError } from '../exit.js';
import { standardInput } from '../hook/stdin.js';
import type { Output } from '../output.js';
import { type Imported, importers, type Policy, type Scenario, type Summary, simulation } from '../replay.js';
import { count, duration, printable, table } from '../text.js';
import { milliseconds } from '../units.js';

const SOURCES = ['scenario', 'claude-code', 'spans'];
const KINDS = ['per_turn', 'every_batch', 'interval', 'last_turn_only', 'shared_across_turns', 'never'];
const COMPARED: Policy[] = [{ kind: 'per_turn' }, { kind: 'every_batch' }, { kind: 'never' }];

export const simulate: Command = {
  name: 'simulate',
  summary: 'replay what an agent did under other policies',
  args: ['FILE'],
  options: {
    from: { value: 'FORMAT', help: 'scenario (default; a recording is one), claude-code, spans (OTLP as JSON)' },
    policy: {
      value: 'POLICY',
      multiple: true,
      help: 'per_turn, every_batch, never; and three mistakes: interval:TIME, last_turn_only, shared_across_turns',
    },
    'unless-read-only': { help: 'under each of them, what is proven to only read gets no checkpoint' },
    scenario: { help: 'print the scenario as JSON Lines, and replay nothing' },
  },
  about: [
    'Replays the tool calls of FILE (- is the standard input) and says what each policy comes to: checkpoints, waiting, calls without',
    'protection, and the work that a rollback of one call would take with it. Without --policy those of the scenario, or three to compare.',
    'A recording is made by openRecording of turnback/recording. Sessions of Claude Code are the files beneath ~/.claude/projects.',
    'Where the scenario names no driver, it is made of the attempts that were recorded; without any a checkpoint takes 50 ms.',
  ],
  examples: [
    'turnback simulate day.jsonl --policy per_turn --policy interval:60s',
    'turnback simulate --from claude-code session.jsonl --unless-read-only',
    'turnback simulate --from claude-code session.jsonl --scenario >session.scenario.jsonl',
  ],
  async run(given, { output, signal }) {
    const asked = policiesOf(given);
    const read = await scenarioOf(given, signal);
    if (given.has('scenario')) {
      if (output.json) throw new UsageError('--scenario and --json exclude each other', 'a scenario is JSON already');
      tellGaps(read, output);
      process.stdout.write(linesOf(read.scenario));
      return EXIT.done;
    }
    const { measuredDriver, simulate } = simulation();
    const { driver = measuredDriver(read.scenario), policies = COMPARED } = read.scenario;
    const when = given.has('unless-read-only') ? { when: 'unless_read_only' as const } : {};
    const { summaries } = simulate({
      ...read.scenario,
      ...(driver && { driver }),
      policies: (asked ?? policies).map((policy) => ({ ...policy, ...when })),
    });
    const { scenario: _, ...gaps } = read;
    const extent = extentOf(read.scenario);
    tellGaps(read, output);
    output.answer(
      { ...extent, ...gaps, summaries },
      () => [extentText(extent), ...summaryTable(summaries)],
      () => summaries.map(({ name, checkpoints, unprotected }) => `${checkpoints} ${unprotected} ${printable(name)}`),
    );
    return EXIT.done;
  },
};

/** What was read, and what of the text is not in it. */
interface Read extends Pick<Imported, 'scenario' | 'unfinished' | 'skipped' | 'skippedParts'> {
  /** The number of a last line that was cut off. */
  droppedLine?: number;
}

async function scenarioOf(given: Given, signal: AbortSignal): Promise<Read> {
  const from = given.value('from') ?? 'scenario';
  if (!SOURCES.includes(from)) throw new UsageError('--from is no known format', `give one of ${SOURCES.join(', ')}`);
  const text = await textOf(given.args[0] ?? '', signal);
  if (from === 'scenario') {
    let droppedLine: number | undefined;
    const onDropped = ({ line }: { line: number }) => {
      droppedLine = line;
    };
    const scenario = simulation().parseScenario(text, { onDropped });
    return { scenario, unfinished: 0, skipped: 0, skippedParts: [], ...(droppedLine !== undefined && { droppedLine }) };
  }
  const { importClaudeCode, importSpans } = importers();
  return from === 'spans' ? importSpans(text) : importClaudeCode(text, { isReadOnly });
}

async function textOf(file: string, signal: AbortSignal): Promise<string> {
  if (file === '-') return await standardInput(signal);
  try {
    return await readFile(file, { encoding: 'utf8', signal });
  } catch (error) {
    throw systemError(`${file} could not be read`, 'name a file with text, or - for the standard input', error);
  }
}

/** The policies that the command line names. */
function policiesOf(given: Given): Policy[] | undefined {
  const named = given.values('policy').map((text): Policy => {
    const [word = '', time, ...more] = text.split(':');
    const kind = KINDS.find((known) => known === word);
    if (kind === undefined || more.length > 0 || (kind === 'interval') !== (time !== undefined)) {
      throw new UsageError(
        '--policy is no known policy',
        'give per_turn, every_batch, never, interval:60s, last_turn_only or shared_across_turns',
      );
    }
    return time === undefined ? { kind } : { kind, intervalMs: milliseconds('--policy interval', time) };
  });
  return named.length === 0 ? undefined : named;
}

/** JSON Lines, as a recording has them. */
function linesOf({ batches, ...head }: Scenario): string {
  return [{ ...head, batches: [] }, ...batches].map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** What is not in the scenario, or not as it was. */
function tellGaps({ unfinished, skipped, skippedParts: [first], droppedLine }: Read, output: Output): void {
  if (droppedLine !== undefined) output.note(`line ${droppedLine}, the last one, is cut off: its call is left out`);
  if (first !== undefined) {
    const parts = skipped === 1 ? 'a part' : count(skipped, 'part');
    output.note(`${parts} of the text could not be used, the first on line ${first.line}: ${first.reason}`);
  }
  if (unfinished > 0)
    output.note(`${count(unfinished, 'call')} without an end: taken to last until the last moment of the session`);
}

interface Extent {
  calls: number;
  turns: number;
  sandboxes: number;
  lengthMs: number;
}

function extentOf({ batches }: Scenario): Extent {
  let [fromMs, toMs] = [Number.POSITIVE_INFINITY, 0];
  const [turns, sandboxes] = [new Set<string>(), new Set<string>()];
  for (const { sandbox, turn, startMs, durationMs } of batches) {
    fromMs = Math.min(fromMs, startMs);
    toMs = Math.max(toMs, startMs + durationMs);
    sandboxes.add(sandbox);
    if (turn !== null) turns.add(JSON.stringify([sandbox, turn]));
  }
  return { calls: batches.length, turns: turns.size, sandboxes: sandboxes.size, lengthMs: Math.max(0, toMs - fromMs) };
}

const extentText = ({ calls, turns, sandboxes, lengthMs }: Extent): string =>
  `${count(calls, 'call')} in ${count(turns, 'turn')} and ${count(sandboxes, 'sandbox', 'sandboxes')}, over ${duration(lengthMs)}.`;

const HEADS = [
  'POLICY',
  'CHECKPOINTS',
  'FAILED',
  'WAITING',
  'LONGEST',
  'UNPROTECTED',
  'MOST WORK LOST',
  'OF OTHER TURNS',
];

function summaryTable(summaries: readonly Summary[]): string[] {
  const rows = summaries.map(({ name, mistake, checkpoints, failures, timeouts, waiting, unprotected, lost }) => [
    `${printable(name)}${mistake ? ' [a mistake]' : ''}`,
    ...[checkpoints, failures + timeouts].map((many) => many.toLocaleString('en-US')),
    duration(waiting.totalMs),
    duration(waiting.maxMs),
    unprotected.toLocaleString('en-US'),
    lost.nothing > 0 ? 'everything' : duration(lost.maxMs),
    lost.nothing > 0 ? 'everything' : lost.acrossTurns.toLocaleString('en-US'),
  ]);
  return table(HEADS, rows, HEADS.slice(1));
}
