// X2, P3, P4: `turnback simulate`: what an agent did under other policies, from a recording, a session of Claude Code or spans.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Policy, parseScenario, type Scenario, simulate } from 'turnback-policy/simulate';
import { describe, expect, it } from 'vitest';
import { temporary, turnback } from './support.js';

const SESSION = fileURLToPath(new URL('../simulate/fixtures/claude-code.jsonl', import.meta.url));
const BATCH = { sandbox: 's', turn: 't', startMs: 0, durationMs: 100, kind: 'destructive' } as const;

/** A file with these lines of JSON, and the command on it. */
function prepared(...lines: (object | string)[]) {
  const home = temporary();
  const file = join(home, 'day.jsonl');
  writeFileSync(file, lines.map((line) => (typeof line === 'string' ? line : `${JSON.stringify(line)}\n`)).join(''));
  const store = join(home, 'store');
  const run = (...args: string[]) => turnback(['simulate', ...args], { cwd: home, env: { TURNBACK_STORE: store } });
  return { file, store, run };
}

const RECORDED = [
  { version: 1 },
  { ...BATCH, attempt: { ms: 30, outcome: 'succeeded' } },
  { ...BATCH, startMs: 200, kind: 'read_only' },
  { ...BATCH, startMs: 1000, turn: 'u' },
];

/** What the package says of a scenario under these policies. */
const summaries = (scenario: Scenario, ...policies: Policy[]) => simulate({ ...scenario, policies }).summaries;

describe('a scenario', () => {
  it('is compared under three policies, with the driver that was recorded, and makes no store', () => {
    const { run, store } = prepared(...RECORDED);
    const { code, stdout, stderr } = run('day.jsonl');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n').map((line) => line.split(/ {2,}/))).toEqual([
      ['3 calls in 2 turns and 1 sandbox, over 1.1 s.'],
      ['POLICY', 'CHECKPOINTS', 'FAILED', 'WAITING', 'LONGEST', 'UNPROTECTED', 'MOST WORK LOST', 'OF OTHER TURNS'],
      ['once a turn', '2', '0', '60 ms', '30 ms', '0', '0 ms', '0'],
      ['every batch', '3', '0', '90 ms', '30 ms', '0', '0 ms', '0'],
      ['never', '0', '0', '0 ms', '0 ms', '2', 'everything', 'everything'],
      [''],
    ]);
    expect(existsSync(store)).toBe(false);
  });

  it('is replayed under the policies and with the driver that it names, or the command line', () => {
    const own = {
      version: 1,
      policies: [{ kind: 'never' }],
      driver: { latency: { kind: 'fixed', ms: 7 }, recorded: false },
    };
    const { run, file } = prepared(own, ...RECORDED.slice(1));
    const scenario = parseScenario(readFileSync(file, 'utf8'));
    const answer = (...args: string[]) => JSON.parse(run(file, '--json', ...args).stdout);
    expect(answer()).toEqual({
      calls: 3,
      turns: 2,
      sandboxes: 1,
      lengthMs: 1100,
      unfinished: 0,
      skipped: 0,
      skippedParts: [],
      summaries: summaries(scenario, { kind: 'never' }),
    });
    const when = 'unless_read_only';
    const policies = ['--policy', 'every_batch', '--policy', 'interval:1.5s', '--policy', 'last_turn_only'];
    expect(answer(...policies, '--policy', 'shared_across_turns', '--unless-read-only').summaries).toEqual(
      summaries(
        scenario,
        { kind: 'every_batch', when },
        { kind: 'interval', intervalMs: 1500, when },
        { kind: 'last_turn_only', when },
        { kind: 'shared_across_turns', when },
      ),
    );
    expect(run(file, '--policy', 'interval:60s').stdout).toMatch(/^not within 60 s \[a mistake\] /m);
    expect(run(file, '--quiet', '--policy', 'per_turn').stdout).toBe('2 0 once a turn\n');
  });

  it('of which the last line is cut off is replayed without it, and that is said', () => {
    const { run } = prepared(...RECORDED, '{"sandbox":"s","tu');
    const { code, stdout, stderr } = run('day.jsonl');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'turnback: line 5, the last one, is cut off: its call is left out\n',
    });
    expect(stdout).toMatch(/^3 calls /);
    expect(JSON.parse(run('day.jsonl', '--json').stdout)).toMatchObject({ calls: 3, droppedLine: 5 });
  });

  it('that is none says where, for people and for programs', () => {
    const { run } = prepared({ version: 1 }, { ...BATCH, startMs: -5 });
    expect(run('day.jsonl')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/INVALID_ARGUMENT: line 2, column 37: batches\[0\]\.startMs is -5: it has to be /),
    });
    expect(JSON.parse(run('day.jsonl', '--json').stdout).error).toMatchObject({
      code: 'INVALID_ARGUMENT',
      details: { line: 2, column: 37, path: 'batches[0].startMs' },
    });
  });
});

describe('logs', () => {
  it('a session of Claude Code, with the commands that are proven to only read', () => {
    const { run } = prepared();
    const { code, stdout, stderr } = run(SESSION, '--from', 'claude-code', '--unless-read-only');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'turnback: 1 call without an end: taken to last until the last moment of the session\n',
    });
    expect(stdout).toMatch(/^5 calls in 2 turns and 1 sandbox, over 65\.0 s\.\n/);
    expect(stdout).toMatch(/^once a turn, unless read-only +2 /m);
    expect(stdout).toMatch(/^every batch, unless read-only +3 /m);
  });

  it('what cannot be used of one is said', () => {
    const { run } = prepared('hello\n', readFileSync(SESSION, 'utf8'), '[]\n');
    const { stderr } = run('day.jsonl', '--from', 'claude-code', '--quiet');
    expect(stderr).toBe('');
    expect(run('day.jsonl', '--from', 'claude-code').stderr).toMatch(
      /^turnback: 2 parts of the text could not be used, the first on line 1: it is no JSON object\n/,
    );
  });

  it('spans, from the standard input', () => {
    const attributes = Object.entries({ 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'bash' });
    const span = {
      traceId: 'a',
      spanId: 'b',
      name: 'execute_tool bash',
      startTimeUnixNano: '1000000000',
      endTimeUnixNano: '3000000000',
      attributes: attributes.map(([key, stringValue]) => ({ key, value: { stringValue } })),
    };
    const input = JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] });
    const { code, stdout } = turnback(['simulate', '-', '--from', 'spans', '--json'], { input });
    expect({ code, answer: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      answer: { calls: 1, turns: 1, lengthMs: 2000 },
    });
  });

  it('become scenarios that are read again', () => {
    const { run, file } = prepared();
    const { code, stdout } = run(SESSION, '--from', 'claude-code', '--scenario');
    expect(code).toBe(0);
    expect(parseScenario(stdout)).toMatchObject({ version: 1, name: 'from Claude Code' });
    expect(stdout.trimEnd().split('\n')).toHaveLength(6);
    writeFileSync(file, stdout);
    expect(run(file).stdout).toBe(run(SESSION, '--from', 'claude-code').stdout);
  });
});

it('what is wrong with the command line is said before anything is read', () => {
  const { run } = prepared(...RECORDED);
  for (const [args, says] of [
    [['--policy', 'often'], '--policy is no known policy'],
    [['--policy', 'interval'], '--policy is no known policy'],
    [['--policy', 'never:5s'], '--policy is no known policy'],
    [['--policy', 'interval:5'], '--policy interval is no length of time'],
    [['--from', 'codex'], '--from is no known format; give one of scenario, claude-code, spans'],
    [['--scenario', '--json'], '--scenario and --json exclude each other'],
  ] as const) {
    const { code, stdout, stderr } = run('day.jsonl', ...args);
    expect({ code, said: `${stdout}${stderr}` }, args.join(' ')).toEqual({
      code: 2,
      said: expect.stringContaining(says),
    });
  }
  expect(run('missing.jsonl')).toMatchObject({ code: 1, stderr: expect.stringContaining('NOT_FOUND: missing.jsonl') });
  expect(run('.')).toMatchObject({ code: 1, stderr: expect.stringContaining('EISDIR') });
});
