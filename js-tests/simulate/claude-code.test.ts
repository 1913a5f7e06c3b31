// P4: sessions of Claude Code as scenarios. The fixture has the format of public samples, versions 2.0 and 2.1, and invented content.
import { readFileSync } from 'node:fs';
import { isReadOnly, type Verdict } from 'turnback';
import { guardHooks } from 'turnback/claude-agent-sdk';
import { importClaudeCode } from 'turnback-policy/importers';
import { checkScenario } from 'turnback-policy/simulate';
import { describe, expect, it } from 'vitest';

const SESSION = readFileSync(new URL('fixtures/claude-code.jsonl', import.meta.url), 'utf8');

/** Records of a session, in which what is not said is the same for all. */
const session = (...records: object[]) =>
  records.map((record) => JSON.stringify({ sessionId: 'x', cwd: '/w', timestamp: at(0), ...record })).join('\n');
const at = (seconds: number) => new Date(Date.UTC(2026, 0, 5) + seconds * 1000).toISOString();
const prompt = (uuid: string, more: object = {}) => ({
  type: 'user',
  uuid,
  parentUuid: null,
  message: { role: 'user', content: 'go on' },
  ...more,
});
const call = (id: string, seconds: number, more: object = {}, name = 'Bash') => ({
  type: 'assistant',
  uuid: `a-${id}`,
  timestamp: at(seconds),
  message: { role: 'assistant', content: [{ type: 'tool_use', id, name, input: { command: 'make' } }] },
  ...more,
});
const result = (id: string, seconds: number, more: object = {}) => ({
  type: 'user',
  uuid: `r-${id}`,
  timestamp: at(seconds),
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] },
  ...more,
});
const turns = (text: string) => importClaudeCode(text).scenario.batches.map(({ tool, turn }) => [tool, turn]);

it('a session with parallel calls, a subagent, a second prompt and a call without a result', () => {
  const { scenario, unfinished, skipped, skippedParts } = importClaudeCode(SESSION, { isReadOnly });
  const here = { sandbox: '/example/project', turn: 'prompt-1' };
  expect(scenario).toStrictEqual({
    version: 1,
    name: 'from Claude Code',
    batches: [
      { ...here, startMs: 0, durationMs: 300, kind: 'read_only', tool: 'Read' },
      { ...here, startMs: 100, durationMs: 150, kind: 'read_only', tool: 'Bash' },
      { ...here, startMs: 2500, durationMs: 3000, kind: 'destructive', tool: 'Task' },
      { ...here, startMs: 3500, durationMs: 200, kind: 'destructive', tool: 'Bash' },
      { ...here, turn: 'prompt-2', startMs: 59_500, durationMs: 5500, kind: 'destructive', tool: 'mcp__files__write' },
    ],
  });
  expect({ unfinished, skipped, skippedParts }).toEqual({ unfinished: 1, skipped: 0, skippedParts: [] });
  expect(checkScenario(scenario)).toBe(scenario);
});

describe('the turn', () => {
  it('of versions that give prompts no id is the prompt’s record, for all that follows from it', () => {
    const text = session(
      prompt('u1'),
      call('one', 1, { parentUuid: 'u1' }, 'One'),
      result('one', 2, { parentUuid: 'a-one' }),
      call('two', 3, { parentUuid: 'r-one' }, 'Two'),
      prompt('u2', { parentUuid: 'a-two' }),
      call('three', 4, { parentUuid: 'u2' }, 'Three'),
      // The records of two branches may lie between one another.
      call('four', 5, { parentUuid: 'r-one' }, 'Four'),
    );
    expect(turns(text)).toEqual([
      ['One', 'u1'],
      ['Two', 'u1'],
      ['Three', 'u2'],
      ['Four', 'u1'],
    ]);
  });

  it('is no summary, no notice of the program and no result', () => {
    const text = session(
      prompt('u1'),
      prompt('meta', { isMeta: true, parentUuid: 'u1' }),
      call('one', 1, { parentUuid: 'meta' }, 'One'),
      prompt('compact', { isCompactSummary: true }),
      call('two', 2, { parentUuid: 'compact' }, 'Two'),
      { ...result('two', 3), message: { role: 'user', content: 'a text' }, toolUseResult: 'Error: no' },
      call('three', 4, { parentUuid: 'r-two' }, 'Three'),
      { type: 'system', uuid: 'boundary', parentUuid: null, logicalParentUuid: 'a-one' },
      call('four', 5, { parentUuid: 'boundary' }, 'Four'),
      call('five', 6, { parentUuid: 'unknown' }, 'Five'),
    );
    expect(turns(text).map(([, turn]) => turn)).toEqual(['u1', 'u1', 'u1', 'u1', 'u1']);
  });

  it('of a subagent is the user’s prompt, in the session’s file and in one of its own', () => {
    const agent = { isSidechain: true, agentId: 'g' };
    const main = session(prompt('u1', { promptId: 'p' }), call('one', 1, { parentUuid: 'u1' }, 'Task'));
    const old = session(prompt('s1', agent), call('two', 2, { parentUuid: 's1', ...agent }, 'Two'));
    const own = session(
      prompt('s1', { ...agent, promptId: 'p' }),
      call('three', 3, { parentUuid: 's1', ...agent }, 'Three'),
    );
    expect(turns(`${main}\n${old}`)).toEqual([
      ['Task', 'p'],
      ['Two', 'p'],
    ]);
    expect(turns(`${main}\n${own}`)).toEqual([
      ['Task', 'p'],
      ['Three', 'p'],
    ]);
    expect(turns(own)).toEqual([['Three', 'p']]);
    // Some versions give a subagent's prompt an id of its own: it is none of the session's.
    const other = session(prompt('s1', { ...agent, promptId: 'q' }), call('four', 4, { parentUuid: 'lost' }, 'Four'));
    expect(turns(`${main}\n${other}`).at(-1)).toEqual(['Four', 'p']);
  });

  it('is unknown where nothing says it', () => {
    expect(turns(session(call('one', 1, {}, 'One')))).toEqual([['One', null]]);
  });
});

describe('the sandbox', () => {
  it('is where the session began, not where a command went to within it; elsewhere is another', () => {
    const cwds = ['/w/app', '/w/app/src', '/w/app-worktree', '/w/app-worktree/src', '/w/app', undefined];
    const text = session(...cwds.map((cwd, seconds) => ({ ...call(`c${seconds}`, seconds), cwd })));
    const sandboxes = importClaudeCode(text).scenario.batches.map(({ sandbox }) => sandbox);
    expect(sandboxes).toEqual(['/w/app', '/w/app', '/w/app-worktree', '/w/app-worktree', '/w/app', '/w/app']);
  });

  it('is the session where no directory is known', () => {
    const text = session({ ...call('one', 1), cwd: undefined }, { ...call('two', 2), cwd: '', sessionId: undefined });
    expect(importClaudeCode(text).scenario.batches.map(({ sandbox }) => sandbox)).toEqual(['x', 'a session']);
  });
});

describe('odd logs', () => {
  it('calls that a resumed session holds again are counted once', () => {
    const once = session(prompt('u1'), call('one', 1), result('one', 2));
    expect(importClaudeCode(`${once}\n${once.replaceAll('"x"', '"y"')}`).scenario.batches).toHaveLength(1);
  });

  it('out of order: sorted, and nothing lasts less than no time', () => {
    const text = session(
      call('late', 9, {}, 'Late'),
      result('late', 8),
      call('early', 4, {}, 'Early'),
      result('early', 5),
    );
    const { batches } = importClaudeCode(text).scenario;
    expect(batches.map(({ tool, startMs, durationMs }) => [tool, startMs, durationMs])).toEqual([
      ['Early', 0, 1000],
      ['Late', 5000, 0],
    ]);
  });

  it('each session ends at its own last moment', () => {
    const text = session(
      call('one', 1, {}, 'One'),
      { ...call('two', 2, {}, 'Two'), sessionId: 'y' },
      { type: 'system', timestamp: at(10) },
      { type: 'system', timestamp: at(60), sessionId: 'y' },
    );
    const { scenario, unfinished } = importClaudeCode(text);
    expect(scenario.batches.map(({ durationMs }) => durationMs)).toEqual([9000, 58_000]);
    expect(unfinished).toBe(2);
  });

  it('what cannot be used is counted, the first 20 by line, and the rest is used', () => {
    const bad = Array.from({ length: 30 }, () => '[7]');
    const text = [
      '{"type":"assist',
      session(call('one', 1), { ...call('two', 2), timestamp: 'soon' }, { ...call('three', 3), timestamp: undefined }),
      session({ type: 'assistant', timestamp: at(3), message: { content: [{ type: 'tool_use' }, null, 7, []] } }),
      '{"type":"of-tomorrow","message":"?"}',
      ...bad,
      '',
      session(result('one', 4)).slice(0, -30),
    ].join('\r\n');
    const { scenario, unfinished, skipped, skippedParts } = importClaudeCode(text);
    expect(scenario.batches).toMatchObject([{ startMs: 0, durationMs: 2000 }]);
    expect({ unfinished, skipped }).toEqual({ unfinished: 1, skipped: 35 });
    expect(skippedParts).toHaveLength(20);
    expect(skippedParts.slice(0, 5)).toEqual([
      { line: 1, reason: 'it is no JSON object' },
      { line: 3, reason: 'a tool call has no timestamp' },
      { line: 4, reason: 'a tool call has no timestamp' },
      { line: 5, reason: 'a tool call has no id or no name' },
      { line: 7, reason: 'it is no JSON object' },
    ]);
  });

  it('without any call it is an error that says what was wrong first', () => {
    expect(() => importClaudeCode('')).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message:
          'there is no tool call in this text: pass the JSON Lines of a session of Claude Code, from ~/.claude/projects',
      }),
    );
    expect(() => importClaudeCode(`${session(prompt('u'))}\nhello`)).toThrow(
      /pass the JSON Lines.*; one part could not be used, the first on line 2: it is no JSON object$/,
    );
    expect(() => importClaudeCode(7 as never)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  it('any mutilation of a log is imported or refused, and what is imported is a scenario', () => {
    const lines = SESSION.split('\n');
    for (let cut = 0; cut < SESSION.length; cut += 7) {
      const text = cut % 2 === 0 ? SESSION.slice(0, cut) : SESSION.slice(0, cut) + SESSION.slice(cut + 40);
      try {
        checkScenario(importClaudeCode(text).scenario);
      } catch (error) {
        expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('no tool call') });
      }
    }
    // Any value in the place of any field.
    const strange = [null, 7, '', [], {}, [[]], { type: 7 }, '__proto__'];
    for (const [number, line] of lines.entries()) {
      if (line === '') continue;
      for (const name of Object.keys(JSON.parse(line))) {
        for (const value of strange) {
          const record = { ...JSON.parse(line), [name]: value };
          checkScenario(importClaudeCode(lines.with(number, JSON.stringify(record)).join('\n')).scenario);
        }
      }
    }
  });
});

describe('what only reads', () => {
  const kind = (name: string, options = {}) =>
    importClaudeCode(session(call('one', 1, {}, name)), options).scenario.batches[0]?.kind;

  it('is what the guard’s hooks do not ask for', async () => {
    const names = [
      'Read',
      'Grep',
      'Glob',
      'LS',
      'NotebookRead',
      'TodoRead',
      'TodoWrite',
      'ToolSearch',
      'WebFetch',
      'WebSearch',
      'AskUserQuestion',
      'EnterPlanMode',
      'ExitPlanMode',
      'Bash',
      'Edit',
      'Write',
      'MultiEdit',
      'NotebookEdit',
      'Task',
      'Agent',
      'KillShell',
      'mcp__x__Read',
      'SlashCommand',
      'Skill',
    ];
    let asked = 0;
    const guard = {
      beforeBatch: async () => {
        asked += 1;
        return {} as Verdict;
      },
      release: () => {},
    };
    const [hook] = guardHooks({ guard, sandboxId: 's' }).PreToolUse[0]?.hooks ?? [];
    for (const name of names) {
      const before = asked;
      await hook?.({ hook_event_name: 'PreToolUse', tool_name: name }, undefined, {
        signal: new AbortController().signal,
      });
      expect(kind(name), name).toBe(asked === before ? 'read_only' : 'destructive');
    }
    expect(asked).toBe(11);
  });

  it('is a command that is proven to', () => {
    expect(kind('Bash', { isReadOnly: (command: string) => command === 'make' })).toBe('read_only');
    expect(kind('Bash', { isReadOnly: () => 'yes' })).toBe('destructive');
    expect(kind('Edit', { isReadOnly: () => true })).toBe('destructive');
    const throws = () => {
      throw new Error('no');
    };
    expect(kind('Bash', { isReadOnly: throws })).toBe('destructive');
  });
});
