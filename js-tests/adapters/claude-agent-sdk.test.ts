// X3, G5, G11, G14: the guard in the hooks of the Claude Agent SDK. The inputs are those of its types (0.3.332), and hooks are called as it
// calls them: so also what no version does that can be installed. `packaging/claude` runs the SDK itself.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createGuard, type GuardOptions, localDriver } from 'turnback';
import { guardHooks, type HookInput } from 'turnback/claude-agent-sdk';
import { describe, expect, it } from 'vitest';
import { recordingGuard } from '../bash/support.js';
import { scene } from '../node/support.js';

const BASE = {
  session_id: '8c35adc1-2f4b-4f0e-9d7e-3b1c5a7e9f20',
  transcript_path: '/home/dev/.claude/projects/-home-dev-work/8c35adc1.jsonl',
  cwd: '/home/dev/work',
  permission_mode: 'acceptEdits',
};
const PROMPT = '5a3c8f0e-7d11-4c9e-9a57-0f6a2f1f6b10';

const bash = (command: string, more: object = {}): HookInput => ({
  ...BASE,
  prompt_id: PROMPT,
  hook_event_name: 'PreToolUse',
  tool_name: 'Bash',
  tool_input: { command, description: 'Do it' },
  tool_use_id: `toolu_${Math.random().toString(36).slice(2)}`,
  ...more,
});

const prompt = (more: object = {}): HookInput => ({ ...BASE, hook_event_name: 'UserPromptSubmit', ...more });

/** Calls hooks as the SDK does: those of the event, with the id of the call and a signal. */
function host(hooks: ReturnType<typeof guardHooks>) {
  return async (input: HookInput, signal = new AbortController().signal) => {
    const matchers = hooks[input.hook_event_name as keyof typeof hooks] ?? [];
    const calls = matchers.flatMap((matcher) => matcher.hooks);
    const outputs = await Promise.all(calls.map((hook) => hook(input, input.tool_use_id, { signal })));
    expect(outputs).toHaveLength(1);
    return outputs[0];
  };
}

/** Without the prompt's id, as older versions send it. */
function old(input: HookInput): HookInput {
  const { prompt_id: _, ...rest } = input;
  return rest;
}

describe('guardHooks', () => {
  it('one checkpoint for all calls of a prompt, of the state before its first, and another for the next', async () => {
    const { manager, workspace } = await scene();
    const guard = createGuard({ driver: localDriver(manager, workspace), enabled: () => true, timeoutMs: 60_000 });
    const call = host(guardHooks({ guard, sandboxId: 'w' }));
    const edit = async (text: string, more = {}) => {
      expect(await call(bash(`echo ${text} >a.txt`, more))).toEqual({});
      writeFileSync(join(workspace, 'a.txt'), text);
    };
    await call(prompt({ prompt_id: PROMPT, prompt: 'Do it' }));
    await Promise.all([edit('1'), edit('1')]);
    await edit('2', { agent_id: 'agent-1', agent_type: 'general-purpose' });
    await call(prompt({ prompt_id: 'next', prompt: 'Again' }));
    await edit('3', { prompt_id: 'next' });
    const made = (await manager.listCheckpoints()).filter(({ phase }) => phase === 'pre_batch');
    expect(made.map(({ metadata }) => metadata.turnId)).toEqual([PROMPT, 'next']);
    const texts = await Promise.all(made.map(({ checkpointId }) => manager.readFile(checkpointId, 'a.txt')));
    expect(texts.map(String)).toEqual(['one\n', '2']);
  });

  it('the turn: what turnId says, the prompt’s id, the session’s last prompt, or else the call (G11)', async () => {
    const { guard, asked } = recordingGuard();
    const turns = () => asked.splice(0).map(({ turnId }) => turnId);
    const call = host(guardHooks({ guard, sandboxId: 'w' }));
    const said = host(guardHooks({ guard, sandboxId: 'w', turnId: (input) => input.session_id }));
    await said(bash('rm x'));
    await call(bash('rm x'));
    expect(turns()).toEqual([BASE.session_id, PROMPT]);

    await call(old(bash('rm x')));
    await call(old(bash('rm x')));
    const [first, second] = turns();
    expect(first).not.toBe(second);

    await call(prompt());
    await call(old(bash('rm x')));
    await call(old(bash('rm x')));
    await call(old(bash('rm x', { session_id: 'other' })));
    await call(prompt());
    await call(old(bash('rm x')));
    const [third, fourth, others, fifth] = turns();
    expect(third).toBe(fourth);
    expect(new Set([third, others, fifth]).size).toBe(3);
  });

  it('does not remember sessions for ever', async () => {
    const { guard, asked } = recordingGuard();
    const call = host(guardHooks({ guard, sandboxId: 'w' }));
    await call(prompt({ session_id: 'first' }));
    for (let n = 0; n < 1000; n += 1) await call(prompt({ session_id: `s${n}` }));
    await call(old(bash('rm x', { session_id: 'first' })));
    await call(old(bash('rm x', { session_id: 'first' })));
    await call(old(bash('rm x', { session_id: 's0' })));
    await call(old(bash('rm x', { session_id: 's0' })));
    const [a, b, c, d] = asked.map(({ turnId }) => turnId);
    expect(a).not.toBe(b);
    expect(c).toBe(d);
  });

  it('asks for nothing that changes no file, and tells the command of Bash', async () => {
    const { guard, asked } = recordingGuard();
    const call = host(guardHooks({ guard, sandboxId: ({ cwd }) => cwd ?? '' }));
    for (const tool_name of ['Read', 'Glob', 'Grep', 'WebFetch', 'TodoWrite']) {
      expect(await call(bash('', { tool_name, tool_input: { file_path: 'x' } }))).toEqual({});
    }
    expect(asked).toEqual([]);
    await call(bash('ls -la'));
    await call(bash('', { tool_name: 'Write', tool_input: { file_path: 'x', content: 'y' } }));
    await call(bash('', { tool_name: 'mcp__files__Read', tool_input: { command: 'ls' } }));
    await call(bash('', { tool_input: null }));
    expect(asked.map(({ command }) => command)).toEqual(['ls -la', undefined, undefined, undefined]);
    expect(asked[0]).toMatchObject({ sandboxId: BASE.cwd });
  });

  it("G14: with 'unless_read_only' a command that only reads has no checkpoint", async () => {
    let made = 0;
    const driver = {
      createCheckpoint: async () => {
        made += 1;
      },
    };
    const guard = createGuard({ driver, when: 'unless_read_only', enabled: () => true });
    const call = host(guardHooks({ guard, sandboxId: 'w' }));
    await call(bash('grep -rn foo src | head'));
    expect(made).toBe(0);
    await call(bash('npm test'));
    expect(made).toBe(1);
  });

  describe('G5', () => {
    const broken = (options: GuardOptions) =>
      createGuard({
        driver: {
          createCheckpoint: async () => {
            throw new Error('no disk');
          },
        },
        enabled: () => true,
        ...options,
      });

    it('fails open', async () => {
      const call = host(guardHooks({ guard: broken({}), sandboxId: 'w' }));
      expect(await call(bash('rm x'))).toEqual({});
      expect(await call({ hook_event_name: 'PreToolUse' })).toEqual({});
      expect(await call(bash('rm x', { prompt_id: 'x'.repeat(201) }))).toEqual({});
    });

    it("with onFailure: 'block' the call is denied, and the model is told why", async () => {
      const call = host(guardHooks({ guard: broken({ onFailure: 'block' }), sandboxId: 'w' }));
      expect(await call(bash('rm x'))).toEqual({
        hookSpecificOutput: {
          hookEventName: 'PreToolUse',
          permissionDecision: 'deny',
          permissionDecisionReason: expect.stringContaining('checkpoint'),
        },
      });
    });

    it('a function of the caller’s that throws denies the call, and the hook does not reject', async () => {
      const { guard, asked } = recordingGuard();
      const options = {
        guard,
        sandboxId: () => {
          throw new Error('which sandbox?');
        },
      };
      const denied = await host(guardHooks(options))(bash('rm x'));
      expect(denied).toMatchObject({
        hookSpecificOutput: { permissionDecisionReason: expect.stringContaining('which sandbox?') },
      });
      expect(asked).toEqual([]);
    });
  });

  it('never reject, also when they are called with nothing', async () => {
    const { guard, asked } = recordingGuard();
    const hooks = guardHooks({ guard, sandboxId: 'w' });
    for (const { hooks: all } of [...hooks.PreToolUse, ...hooks.UserPromptSubmit]) {
      for (const hook of all) expect(await hook(undefined as never, undefined, undefined as never)).toEqual({});
    }
    expect(asked).toEqual([]);
  });

  it('options that can never be right are refused', () => {
    const { guard } = recordingGuard();
    for (const options of [
      { guard },
      { sandboxId: 'w' },
      { guard, sandboxId: 'w', matcher: 'Bash' },
      { guard: {}, sandboxId: 'w' },
    ]) {
      expect(() => guardHooks(options as never)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    }
  });
});
