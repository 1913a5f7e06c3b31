// X3, G1, G4–G6, G14: `turnback hook claude-code`, run as Claude Code runs it: a process for each call, its JSON on standard input.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { holdLock } from '../guard/lock.js';
import { bash, call, NEXT_PROMPT, PROMPT, prepared, SILENT } from './hook.js';
import { PACKAGE, turnback, write } from './support.js';

describe('one checkpoint a prompt', () => {
  it('before its first call, and the turn can be taken back', async () => {
    const { workspace, env, hook, checkpoints } = prepared();
    expect(await hook(call(workspace))).toEqual(SILENT);
    expect(await hook(call(workspace, { ...bash('touch b'), tool_use_id: 'toolu_02' }))).toEqual(SILENT);
    expect(checkpoints()).toMatchObject([{ phase: 'pre_batch', workspace, metadata: { turnId: PROMPT } }]);
    rmSync(join(workspace, 'a.txt'));
    const turns = JSON.parse(turnback(['turns', '--json'], { cwd: workspace, env }).stdout);
    expect(turns.turns).toMatchObject([{ turnId: PROMPT, late: false }]);
    expect(turnback(['rollback', '--turn', PROMPT], { cwd: workspace, env }).code).toBe(0);
    expect(existsSync(join(workspace, 'a.txt'))).toBe(true);
  });

  it('eight calls at once share it (G4)', async () => {
    const { workspace, told, checkpoints } = prepared();
    const calls = Array.from({ length: 8 }, (_, n) => told(call(workspace, { tool_use_id: `toolu_${n}` })));
    const answers = await Promise.all(calls);
    expect(answers.map(({ outcome }) => outcome).sort()).toEqual([...Array(7).fill('already_covered'), 'created']);
    const [{ checkpointId }, ...none] = checkpoints();
    expect(none).toEqual([]);
    expect(new Set(answers.map((answer) => answer.checkpointId))).toEqual(new Set([checkpointId]));
  });

  it('the next prompt has another, also at the same time, and so has a subagent only its prompt’s', async () => {
    const { workspace, told, checkpoints } = prepared();
    const [first, second] = await Promise.all([
      told(call(workspace)),
      told(call(workspace, { prompt_id: NEXT_PROMPT })),
    ]);
    expect([first.outcome, second.outcome]).toEqual(['created', 'created']);
    const agent = await told(call(workspace, { agent_id: 'agent-1', agent_type: 'Explore' }));
    expect(agent).toMatchObject({ outcome: 'already_covered', checkpointId: first.checkpointId });
    expect(checkpoints()).toHaveLength(2);
  });

  it('without a prompt’s id each call is a turn (G11)', async () => {
    const { workspace, told, checkpoints } = prepared();
    const { prompt_id: _, ...old } = call(workspace);
    expect(await told(old)).toMatchObject({ outcome: 'created', turnId: old.tool_use_id });
    expect(await told({ ...old, tool_use_id: 'toolu_02' })).toMatchObject({ outcome: 'created', turnId: 'toolu_02' });
    const { tool_use_id: __, ...older } = old;
    expect(await told(older)).toMatchObject({ outcome: 'created' });
    expect(checkpoints()).toHaveLength(3);
  });

  it('a prompt’s id that can be none of a turn is one all the same (G2, G11)', async () => {
    const { workspace, told, checkpoints } = prepared();
    const ids = ['x'.repeat(201), `${'x'.repeat(200)}y`, '\ud800'];
    const turns = new Set<unknown>();
    for (const prompt_id of ids) {
      const { outcome, turnId } = await told(call(workspace, { prompt_id }));
      expect(outcome).toBe('created');
      turns.add(turnId);
      expect(await told(call(workspace, { prompt_id }))).toMatchObject({ outcome: 'already_covered', turnId });
    }
    expect([turns.size, checkpoints().length]).toEqual([3, 3]);
  });

  it('of the directory that is given, or the project’s, or else where the session is', async () => {
    const { home, workspace, start, checkpoints } = prepared();
    const other = write(join(home, 'other'), { 'x.txt': 'x' });
    const where = async (args: string[], more: Record<string, string>, prompt_id: string) => {
      await start(call(workspace, { prompt_id, cwd: other }), args, { more }).over;
      return checkpoints().at(-1).workspace;
    };
    expect(await where([], {}, 'p1')).toBe(workspace);
    expect(await where([], { CLAUDE_PROJECT_DIR: '' }, 'p2')).toBe(other);
    expect(await where([other], {}, 'p3')).toBe(other);
    // A project that is not there: where the session is, and stderr says so.
    const more = { CLAUDE_PROJECT_DIR: join(home, 'lost') };
    const elsewhere = await start(call(workspace, { prompt_id: 'p4', cwd: other }), [], { more }).over;
    expect(elsewhere).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('does not exist') });
    expect(checkpoints()).toMatchObject([{}, {}, {}, { workspace: other }]);
  });

  it('when it was deleted, the next call gets another, which is called late (G9)', async () => {
    const { workspace, env, told } = prepared();
    const { checkpointId } = await told(call(workspace));
    expect(turnback(['delete', checkpointId], { cwd: workspace, env }).code).toBe(0);
    expect(await told(call(workspace))).toMatchObject({ outcome: 'created', late: true, protected: true });
    expect(await told(call(workspace))).toMatchObject({ outcome: 'already_covered', late: true });
  });
});

describe('what needs none', () => {
  it('tools that change no file, and other events', async () => {
    const { workspace, hook, told, checkpoints, notes } = prepared();
    for (const tool_name of ['Read', 'Grep', 'Glob', 'WebSearch', 'TodoWrite']) {
      expect(await hook(call(workspace, { tool_name, tool_input: {} }))).toEqual(SILENT);
    }
    const { tool_name: _, tool_input: __, tool_use_id: ___, ...common } = call(workspace);
    expect(await hook({ ...common, hook_event_name: 'UserPromptSubmit', prompt: 'Clean up' })).toEqual(SILENT);
    for (const hook_event_name of ['PostToolUse', 'UserPromptSubmit', 'Stop']) {
      const other = await told(call(workspace, { hook_event_name }));
      expect(other).toEqual({ outcome: 'skipped', protected: false, reason: 'no_tool_call' });
    }
    const reading = await told(call(workspace, { tool_name: 'Read', tool_input: {} }));
    expect(reading).toEqual({ outcome: 'skipped', protected: false, reason: 'read_only' });
    expect(checkpoints()).toEqual([]);
    expect(existsSync(notes)).toBe(false);
  });

  it('with --unless-read-only a command that is proven to only read, without a trace (G14)', async () => {
    const { home, workspace, told, checkpoints } = prepared();
    const reading = { ...call(workspace), ...bash("grep -rn 'foo' src | head -20") };
    expect(await told(reading, '--unless-read-only')).toMatchObject({ outcome: 'skipped', reason: 'read_only' });
    expect(readdirSync(home)).toEqual(['work']);
    for (const [n, command] of ['rm x', 'ls (', 'echo \ud800', 7, undefined].entries()) {
      const answer = await told(call(workspace, { ...bash(command), prompt_id: `p${n}` }), '--unless-read-only');
      expect(answer).toMatchObject({ outcome: 'created', late: false });
    }
    expect(await told({ ...reading, tool_name: 'PowerShell' }, '--unless-read-only')).toMatchObject({
      outcome: 'created',
    });
    expect(await told({ ...reading, prompt_id: NEXT_PROMPT })).toMatchObject({ outcome: 'created', late: false });
    expect(checkpoints()).toHaveLength(7);
  });

  it('with the flag off and while the store is paused; the one that comes after is late (G3, C17)', async () => {
    const { workspace, env, start, told, checkpoints } = prepared();
    const more = { SANDBOX_CHECKPOINT_BEFORE_AGENT_BATCH: 'false' };
    const off = await start(call(workspace), ['--json', '--block', '--limit', '100s'], { more }).over;
    expect(off.code).toBe(0);
    expect(JSON.parse(off.stdout)).toMatchObject({ outcome: 'skipped', reason: 'flag_off' });
    expect(turnback(['pause'], { env }).code).toBe(0);
    for (let n = 0; n < 4; n += 1) {
      const paused = await told(call(workspace, { prompt_id: NEXT_PROMPT }), '--block', '--limit', '100s');
      expect(paused).toMatchObject({ outcome: 'skipped', reason: 'paused' });
    }
    expect(turnback(['resume'], { env }).code).toBe(0);
    for (const prompt_id of [PROMPT, NEXT_PROMPT]) {
      expect(await told(call(workspace, { prompt_id }))).toMatchObject({ outcome: 'created', late: true });
    }
    expect(checkpoints().map(({ metadata }: { metadata: object }) => metadata)).toMatchObject([
      { turnId: PROMPT, late: 'true' },
      { turnId: NEXT_PROMPT, late: 'true' },
    ]);
  });
});

describe('G5: it fails open', () => {
  const BAD: [string, string][] = [
    ['nothing', ''],
    ['no JSON', '{"session_id":'],
    ['a number', '7'],
    ['null', 'null'],
    ['a list', '[]'],
    ['no event', '{"session_id":"s","tool_name":"Bash"}'],
    ['an event that is no text', '{"hook_event_name":7}'],
    ['bytes', '\u0000\u0001\ufffd'],
  ];
  it.each(BAD)('input that is none: %s', async (_, input) => {
    const { hook, home } = prepared();
    const ran = await hook(input);
    expect(ran).toMatchObject({ code: 0, stdout: '' });
    expect(ran.stderr).toMatch(/^turnback: no checkpoint: failed \(the input is [^\n]*\); the call runs\n$/);
    expect(await hook(input, '--block')).toMatchObject({ code: 2, stdout: '' });
    expect(readdirSync(home)).toEqual(['work']);
  });

  it('fields that are missing or of another type', async () => {
    const { told, checkpoints } = prepared();
    const event = { hook_event_name: 'PreToolUse' };
    for (const odd of [{}, { prompt_id: 7, tool_use_id: {}, cwd: [], tool_name: null, tool_input: null }]) {
      expect(await told({ ...event, ...odd })).toMatchObject({ outcome: 'created' });
    }
    expect(await told({ ...event, prompt_id: 'x'.repeat(201) })).toMatchObject({ outcome: 'created' });
    expect(checkpoints()).toHaveLength(3);
  });

  it('a call with 5 MB of input has its checkpoint; one over 64 MiB is read to its end and has none', async () => {
    const { workspace, told, start } = prepared();
    const writing = (bytes: number) =>
      call(workspace, { tool_name: 'Write', tool_input: { file_path: 'x', content: 'x'.repeat(bytes) } });
    expect(await told(writing(5_000_000))).toMatchObject({ outcome: 'created' });
    const ran = await start(writing(65 * 2 ** 20)).over;
    expect(ran).toMatchObject({ code: 0, stdout: '' });
    expect(ran.stderr).toMatch(/the input has 681[0-9]{5} bytes, which is more than is read/);
    expect(ran.writing).toBeUndefined();
  });

  it('standard input that is closed, or does not end', async () => {
    const { workspace, start, env } = prepared();
    const half = JSON.stringify(call(workspace)).slice(0, -1);
    // Also where it ends like an object.
    for (const input of [half, half.slice(0, half.indexOf('}') + 1)]) {
      const ran = await start(input, ['--limit', '1s'], { open: true }).over;
      expect(ran).toMatchObject({ code: 0, stdout: '' });
      expect(ran.stderr).toMatch(/the input did not end in time/);
    }
    const closed = spawn(
      'sh',
      ['-c', `exec "$0" "$1" hook claude-code <&-`, process.execPath, join(PACKAGE, 'bin', 'turnback.js')],
      {
        env: { ...process.env, ...env },
        stdio: 'ignore',
      },
    );
    expect(await new Promise((resolve) => closed.once('close', resolve))).toBe(0);
  });

  it('input that is complete and does not end', async () => {
    const { workspace, start } = prepared();
    const input = `\ufeff${JSON.stringify(call(workspace))}\n`;
    const ran = await start(input, ['--json', '--limit', '60s'], { open: true }).over;
    expect(JSON.parse(ran.stdout)).toMatchObject({ outcome: 'created', turnId: PROMPT });
  });

  it('a mark of byte order before the input means nothing', async () => {
    const { workspace, hook, checkpoints } = prepared();
    expect(await hook(`\ufeff${JSON.stringify(call(workspace))}`)).toEqual(SILENT);
    expect(checkpoints()).toHaveLength(1);
  });

  it('a directory or a store that cannot be used', async () => {
    const { home, workspace, start, hook } = prepared();
    const gone = join(home, 'lost');
    const lost = await start(call(workspace, { cwd: gone }), [], { more: { CLAUDE_PROJECT_DIR: gone } }).over;
    expect(lost).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('the call runs') });
    const broad = await hook(call(workspace), '/');
    expect(broad).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('the call runs') });
    writeFileSync(join(home, 'file'), '');
    const noStore = await hook(call(workspace), '--store', join(home, 'file'));
    expect(noStore).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('the call runs') });
    expect(await hook(call(workspace), '--store', join(home, 'file'), '--block')).toMatchObject({
      code: 2,
      stdout: '',
    });
  });

  it('a command line that cannot be right is no refusal of the call', async () => {
    const { workspace, hook, env } = prepared();
    for (const args of [['--bogus'], ['--limit', 'soon'], ['--limit', '0s'], ['a', 'b']]) {
      const ran = await hook(call(workspace), ...args);
      expect(ran).toMatchObject({ code: 1, stdout: '' });
      expect(ran.stderr).toMatch(/^turnback: INVALID_ARGUMENT: [^\n]*\n$/);
    }
    for (const line of [['hook'], ['hook', 'claude-cod'], ['--bogus', 'hook', 'claude-code']]) {
      expect(turnback(line, { env }).code).toBe(1);
    }
  });

  it('a checkpoint that takes too long; the next one is late, and three attempts are enough (G6)', async () => {
    const { workspace, env, told, hook, checkpoints } = prepared();
    const { checkpointId } = await told(call(workspace, { prompt_id: 'earlier' }));
    const [{ sandboxId }] = checkpoints();
    expect(checkpointId).toBeDefined();
    const lock = holdLock(join(env.TURNBACK_STORE ?? '', 'locks', sandboxId));
    try {
      const slow = await hook(call(workspace), '--limit', '2s');
      expect(slow).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('the call runs') });
      expect(await hook(call(workspace), '--limit', '2s', '--block')).toMatchObject({ code: 2, stdout: '' });
      for (let n = 0; n < 3; n += 1) await hook(call(workspace, { prompt_id: NEXT_PROMPT }), '--limit', '2s');
    } finally {
      await lock.release();
    }
    expect(await told(call(workspace))).toMatchObject({ outcome: 'created', late: true });
    expect(await told(call(workspace, { prompt_id: NEXT_PROMPT }))).toMatchObject({
      outcome: 'failed',
      reason: 'attempts_exhausted',
    });
  });

  it('one that is killed in the middle holds up nobody, and is an attempt', async () => {
    const { workspace, env, start, told, checkpoints, notes } = prepared();
    await told(call(workspace, { prompt_id: 'earlier' }));
    const [{ sandboxId }] = checkpoints();
    const lock = holdLock(join(env.TURNBACK_STORE ?? '', 'locks', sandboxId));
    const killed = start(call(workspace), ['--limit', '60s']);
    // It has begun when its note is there.
    while (readdirSync(notes).filter((name) => !name.includes('.')).length < 2) await new Promise(setImmediate);
    const waiting = start(call(workspace, { tool_use_id: 'toolu_02' }), ['--limit', '60s', '--json']);
    killed.child.kill('SIGKILL');
    expect((await killed.over).code).toBeNull();
    await lock.release();
    expect(JSON.parse((await waiting.over).stdout)).toMatchObject({ outcome: 'created', late: true });
  });

  it('a note that cannot be read says that something ran', async () => {
    const { workspace, told, notes } = prepared();
    await told(call(workspace));
    const [name = ''] = readdirSync(notes);
    for (const damaged of ['', '{"ran":', '{"ran":"no","attempts":0}', '{"ran":false,"attempts":0.5}', '7', 'null']) {
      writeFileSync(join(notes, name), damaged);
      expect(await told(call(workspace))).toMatchObject({ outcome: 'created', late: true });
    }
  });
});

it('G8: notes of prompts that nothing was heard of for a day go with the next prompt', async () => {
  const { workspace, hook, notes } = prepared();
  await hook(call(workspace));
  const [old = ''] = readdirSync(notes);
  const longAgo = new Date(Date.now() - 25 * 60 * 60 * 1000);
  utimesSync(join(notes, old), longAgo, longAgo);
  mkdirSync(join(notes, 'folder'));
  utimesSync(join(notes, 'folder'), longAgo, longAgo);
  await hook(call(workspace, { prompt_id: NEXT_PROMPT }));
  expect(readdirSync(notes)).not.toContain(old);
  expect(readdirSync(notes)).toHaveLength(2);
});
