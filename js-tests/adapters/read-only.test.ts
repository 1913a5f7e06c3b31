// G14, X3: each adapter tells the guard the command of a tool that has one, so that a call which only reads needs no checkpoint.
import { createGuard, runBash } from 'turnback';
import { wrapTools } from 'turnback/ai';
import { guardCallTool, guardTool } from 'turnback/mcp';
import { guardExecute } from 'turnback/openai-agents';
import { guardFunction } from 'turnback/plain';
import { describe, expect, it } from 'vitest';
import { rejection, temporary } from '../bash/support.js';

interface Input {
  cmd?: string | string[];
}

/** A guard that wants no checkpoint for what only reads, and how many it made. */
function lenient() {
  const made: string[] = [];
  const driver = {
    createCheckpoint: async ({ comment }: { comment: string }) => {
      made.push(comment);
    },
  };
  return { guard: createGuard({ driver, when: 'unless_read_only', enabled: () => true }), made };
}

type Guard = ReturnType<typeof lenient>['guard'];

const command = ({ cmd }: Input) => cmd;

/** A tool that does nothing, wrapped in each way; what it is called with comes as `Input`. */
const WAYS: [string, (guard: Guard) => (input: Input) => Promise<unknown>][] = [
  [
    'wrapTools',
    (guard) => {
      const tools = { bash: { execute: async (_: Input, __: object) => 'ran' } };
      const { bash } = wrapTools(tools, { guard, sandboxId: 's', command: (input) => command(input as Input) });
      return (input) => bash.execute(input, { messages: [] });
    },
  ],
  ['guardExecute', (guard) => guardExecute(async (_: Input) => 'ran', { guard, sandboxId: 's', command })],
  ['guardTool', (guard) => guardTool(async (_: Input) => 'ran', { guard, sandboxId: 's', command })],
  [
    'guardCallTool',
    (guard) => {
      const client = { callTool: async (_: { name: string; arguments: Input }) => 'ran' };
      const call = guardCallTool(client, { guard, sandboxId: 's', command: ({ arguments: input }) => command(input) });
      return (input) => call({ name: 'bash', arguments: input });
    },
  ],
  ['guardFunction', (guard) => guardFunction(async (_: Input) => 'ran', { guard, sandboxId: 's', command })],
];

describe.each(WAYS)('G14: %s', (_, wrap) => {
  it('makes a checkpoint unless the command is proven to only read', async () => {
    const { guard, made } = lenient();
    const tool = wrap(guard);
    expect(await tool({ cmd: 'ls -la' })).toBe('ran');
    expect(await tool({ cmd: ['ls', 'cat a | wc -l'] })).toBe('ran');
    expect(made).toHaveLength(0);
    for (const cmd of ['rm x', ['ls', 'rm x'], undefined]) {
      const before = made.length;
      expect(await tool(cmd === undefined ? {} : { cmd })).toBe('ran');
      expect(made).toHaveLength(before + 1);
    }
  });

  it('does not run when the function that says the command throws', async () => {
    const { guard, made } = lenient();
    const tool = wrap(guard);
    const failure = new Error('what command?');
    const input = {
      get cmd(): string {
        throw failure;
      },
    };
    expect(await rejection(tool(input))).toBe(failure);
    expect(made).toHaveLength(0);
  });
});

it('a command that is no function is refused when something is wrapped', async () => {
  const { guard } = lenient();
  expect(() => guardFunction(() => 1, { guard, sandboxId: 's', command: 'ls' as never })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', details: { argument: 'options.command' } }),
  );
});

it('G13, G14: runBash tells the guard its own command', async () => {
  const { guard, made } = lenient();
  const sandbox = temporary();
  const reading = await runBash({ sandbox, command: 'ls -A | wc -l', guard, turnId: 't' });
  expect(reading).toMatchObject({ exitCode: 0, checkpoint: { outcome: 'skipped', reason: 'read_only' } });
  expect(reading.stdout.trim()).toBe('0');
  const writing = await runBash({ sandbox, command: 'touch a', guard, turnId: 't' });
  expect(writing.checkpoint).toMatchObject({ outcome: 'created', late: false });
  expect(made).toHaveLength(1);
});
