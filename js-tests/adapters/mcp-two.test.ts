// X3: version 2 of the SDK of the Model Context Protocol, whose packages, arguments and contexts are others than those of version 1.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client, InMemoryTransport } from '@modelcontextprotocol/client';
import { Client as ClientOne } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport as TransportOne } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer as McpServerOne } from '@modelcontextprotocol/sdk/server/mcp.js';
import { McpServer } from '@modelcontextprotocol/server';
import { createGuard, localDriver } from 'turnback';
import { guardCallTool, guardTool } from 'turnback/mcp';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { recordingGuard, rejection } from '../bash/support.js';
import { scene } from '../node/support.js';
import { linked, said } from './mcp-pair.js';

const named = { name: 'test', version: '1' };

/** A server and a client of version 2, joined. */
const joined = (server: McpServer) => linked(server, new Client(named), InMemoryTransport.createLinkedPair());

/** Clients of both versions, each with a way to call a tool with a signal, and how often the tool ran. */
const VERSIONS = {
  async 1() {
    const server = new McpServerOne(named);
    let ran = 0;
    server.registerTool('drop', {}, () => said(`ran ${++ran}`));
    const client = await linked(server, new ClientOne(named), TransportOne.createLinkedPair());
    return {
      guardedBy: (options: Parameters<typeof guardCallTool<ClientOne>>[1]) => {
        const callTool = guardCallTool(client, options);
        return (signal: AbortSignal) => callTool({ name: 'drop' }, undefined, { signal });
      },
      ran: () => ran,
    };
  },
  async 2() {
    const server = new McpServer(named);
    let ran = 0;
    server.registerTool('drop', {}, () => said(`ran ${++ran}`));
    const client = await joined(server);
    return {
      guardedBy: (options: Parameters<typeof guardCallTool<Client>>[1]) => {
        const callTool = guardCallTool(client, options);
        return (signal: AbortSignal) => callTool({ name: 'drop' }, { signal });
      },
      ran: () => ran,
    };
  },
};

describe.each([1, 2] as const)('guardCallTool around a client of version %i', (version) => {
  it('F29: a call that is aborted while its checkpoint is made is not sent, and its slot is given back', async () => {
    const { guardedBy, ran } = await VERSIONS[version]();
    const controller = new AbortController();
    const reason = new Error('enough');
    const { guard, asked, released } = recordingGuard((batch) => {
      controller.abort(reason);
      return recordingGuard().guard.beforeBatch(batch);
    });
    const call = guardedBy({ guard, sandboxId: 'w' });
    expect(await rejection(call(controller.signal))).toBe(reason);
    expect(asked.map(({ signal }) => signal)).toEqual([controller.signal]);
    await expect.poll(() => released).toEqual(asked);
    expect(ran()).toBe(0);
    // Aborted before: not even asked.
    expect(await rejection(call(controller.signal))).toBe(reason);
    expect([asked.length, ran()]).toEqual([1, 0]);
  });

  it('a call that nobody aborts runs', async () => {
    const { guardedBy, ran } = await VERSIONS[version]();
    const { guard, asked } = recordingGuard();
    expect(await guardedBy({ guard, sandboxId: 'w' })(new AbortController().signal)).toMatchObject(said('ran 1'));
    expect([asked.length, ran()]).toEqual([1, 1]);
  });
});

describe('guardTool in a server of version 2', () => {
  it('a checkpoint before each request, and one a turn where the client says which', async () => {
    const { manager, workspace } = await scene({ 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' });
    const guard = createGuard({ driver: localDriver(manager, workspace), enabled: () => true, timeoutMs: 60_000 });
    const server = new McpServer(named);
    server.registerTool(
      'drop',
      { inputSchema: z.object({ file: z.string() }) },
      guardTool(
        async ({ file }, context) => {
          rmSync(join(workspace, file));
          return said(`dropped for ${context.mcpReq.id}`);
        },
        { guard, sandboxId: 'w', turnId: (_, { mcpReq }) => mcpReq._meta?.turn as string | undefined },
      ),
    );
    const client = await joined(server);
    const drop = (file: string, _meta?: { turn: string }) =>
      client.callTool({ name: 'drop', arguments: { file }, ...(_meta ? { _meta } : {}) });
    expect((await drop('a.txt', { turn: 't' })).isError).toBeUndefined();
    await drop('b.txt', { turn: 't' });
    await drop('c.txt');
    const made = (await manager.listCheckpoints()).filter(({ phase }) => phase === 'pre_batch');
    expect(made.map(({ metadata }) => metadata.turnId)).toEqual(['t', expect.stringMatching(/^turn-/)]);
  });

  it('F29: a request that its client cancels while the checkpoint is made does not run', async () => {
    let ran = false;
    const controller = new AbortController();
    const { guard, asked, released } = recordingGuard(async (batch) => {
      controller.abort(new Error('enough'));
      await new Promise<void>((resolve) => batch.signal?.addEventListener('abort', () => resolve()));
      return await recordingGuard().guard.beforeBatch(batch);
    });
    const server = new McpServer(named);
    server.registerTool(
      'drop',
      {},
      guardTool(
        (_context) => {
          ran = true;
          return said('dropped');
        },
        { guard, sandboxId: 'w' },
      ),
    );
    const client = await joined(server);
    await rejection(client.callTool({ name: 'drop' }, { signal: controller.signal }));
    await expect.poll(() => released).toEqual(asked);
    expect(asked[0]?.signal).toBeInstanceOf(AbortSignal);
    expect(ran).toBe(false);
  });
});
