// X3: tools of the Model Context Protocol, with the real SDK, in a server and in a client.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { createGuard, localDriver } from 'turnback';
import { guardCallTool, guardTool } from 'turnback/mcp';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { recordingGuard, rejection } from '../bash/support.js';
import { scene } from '../node/support.js';
import { linked, said } from './mcp-pair.js';

/** A server and a client, joined. */
const joined = (server: McpServer) =>
  linked(server, new Client({ name: 'test', version: '1' }), InMemoryTransport.createLinkedPair());

const server = () => new McpServer({ name: 'test', version: '1' });

describe('guardTool, in a server', () => {
  it('a checkpoint before each request, and one a turn where the client says which', async () => {
    const { manager, workspace } = await scene({ 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' });
    const guard = createGuard({ driver: localDriver(manager, workspace), enabled: () => true, timeoutMs: 60_000 });
    const serving = server();
    serving.registerTool(
      'drop',
      { inputSchema: { file: z.string() }, annotations: { readOnlyHint: true } },
      guardTool(
        async ({ file }, extra) => {
          rmSync(join(workspace, file));
          return said(`dropped for ${extra.requestId}`);
        },
        { guard, sandboxId: 'w', turnId: (_, { _meta }) => _meta?.turn as string | undefined },
      ),
    );
    const client = await joined(serving);
    const drop = (file: string, _meta?: { turn: string }) =>
      client.callTool({ name: 'drop', arguments: { file }, ...(_meta ? { _meta } : {}) });
    expect((await drop('a.txt', { turn: 't' })).isError).toBeUndefined();
    await drop('b.txt', { turn: 't' });
    await drop('c.txt');
    const made = (await manager.listCheckpoints()).filter(({ phase }) => phase === 'pre_batch');
    expect(made.map(({ metadata }) => metadata.turnId)).toEqual(['t', expect.stringMatching(/^turn-/)]);
    expect(String(await manager.readFile(made[0]?.checkpointId as string, 'a.txt'))).toBe('a');
    expect(() => readFileSync(join(workspace, 'a.txt'))).toThrow();
  });

  it('a tool without arguments: its signal is that of the request; a refusal of the guard is its error', async () => {
    const refusal = new Error('no checkpoint');
    const { guard, asked } = recordingGuard(() => Promise.reject(refusal));
    let ran = false;
    const serving = server();
    serving.registerTool(
      'drop',
      {},
      guardTool(
        (_extra) => {
          ran = true;
          return said('dropped');
        },
        { guard, sandboxId: 'w' },
      ),
    );
    const client = await joined(serving);
    expect(await client.callTool({ name: 'drop' })).toMatchObject({ isError: true, ...said('no checkpoint') });
    expect(asked[0]?.signal).toBeInstanceOf(AbortSignal);
    expect(ran).toBe(false);
  });

  it.each([
    [undefined, true],
    [{}, true],
    [{ readOnlyHint: true }, false],
    [{ destructiveHint: false }, false],
    [{ destructiveHint: true }, true],
    [{ readOnlyHint: true, destructiveHint: true }, true],
    [{ readOnlyHint: false }, true],
    [{ readOnlyHint: 'yes', destructiveHint: 0 } as never, true],
  ])('annotations %j that are to be believed: a checkpoint, %s', async (annotations, needed) => {
    const { guard, asked } = recordingGuard();
    await guardTool(() => said('ran'), { guard, sandboxId: 'w', annotations })();
    expect(asked).toHaveLength(needed ? 1 : 0);
  });
});

describe('guardCallTool, in a client', () => {
  async function stage() {
    const serving = server();
    for (const [name, annotations] of [
      ['look', { readOnlyHint: true }],
      ['drop', { destructiveHint: true }],
      ['plain', {}],
    ] as const) {
      serving.registerTool(name, { annotations }, () => said(name));
    }
    const client = await joined(serving);
    return { client, tools: (await client.listTools()).tools, ...recordingGuard() };
  }

  it('of a server that is not trusted, each call needs a checkpoint, whatever its tools say of themselves', async () => {
    const { client, guard, asked } = await stage();
    const callTool = guardCallTool(client, { guard, sandboxId: ({ name }) => `box-${name}` });
    expect(await callTool({ name: 'look' })).toMatchObject(said('look'));
    expect(asked.map(({ sandboxId }) => sandboxId)).toEqual(['box-look']);
  });

  it('of one that is, those that say that they destroy nothing need none; unknown ones do', async () => {
    const { client, guard, asked, tools } = await stage();
    const callTool = guardCallTool(client, {
      guard,
      sandboxId: ({ name }) => name,
      turnId: () => 't',
      trustedTools: tools,
    });
    for (const name of ['look', 'drop', 'plain', 'unknown']) await callTool({ name });
    expect(asked.map(({ sandboxId, turnId }) => [sandboxId, turnId])).toEqual([
      ['drop', 't'],
      ['plain', 't'],
      ['unknown', 't'],
    ]);
  });

  it('the request’s signal cancels it: nothing is sent', async () => {
    const { client, guard, asked } = await stage();
    const callTool = guardCallTool(client, { guard, sandboxId: 'w' });
    const reason = new Error('enough');
    expect(await rejection(callTool({ name: 'drop' }, undefined, { signal: AbortSignal.abort(reason) }))).toBe(reason);
    expect(asked).toEqual([]);
  });

  it('INVALID_ARGUMENT for what can never be right', () => {
    const { guard } = recordingGuard();
    const options = { guard, sandboxId: 'w' };
    for (const wrong of [
      () => guardCallTool({} as never, options),
      () => guardCallTool({ callTool: async () => {} }, { ...options, trustedTools: 'all' as never }),
      () => guardCallTool({ callTool: async () => {} }, { ...options, trustedTools: [null] as never }),
      () => guardTool('drop' as never, options),
      () => guardTool(() => {}, { ...options, annotations: true as never }),
    ]) {
      expect(wrong).toThrowError(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
    }
  });
});
