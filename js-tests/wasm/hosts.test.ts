// P1, P2, X5: one package for workers, bundles and pages; it needs nothing of its host but JavaScript and WebAssembly.
import { once } from 'node:events';
import { join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { isTurnbackError } from 'turnback-policy';
import { build, type Rolldown } from 'vite';
import { beforeAll, describe, expect, it } from 'vitest';
import { thrownBy } from './vectors.js';

it('P2: runs in a worker', async () => {
  const worker = new Worker(new URL('./fixtures/worker.mjs', import.meta.url));
  const [answer] = await once(worker, 'message');
  expect(answer).toStrictEqual({ prefix: 'turnback', turnId: 'turn 1' });
  await worker.terminate();
});

describe('P2: bundled as for a page', () => {
  let files: Rolldown.RolldownOutput['output'];
  beforeAll(async () => {
    const entry = join(import.meta.dirname, 'fixtures', 'page.mjs');
    const built = await build({
      configFile: false,
      logLevel: 'silent',
      root: import.meta.dirname,
      build: { write: false, lib: { entry, name: 'policy', formats: ['iife'] } },
    });
    files = (Array.isArray(built) ? built[0] : (built as Rolldown.RolldownOutput))?.output as typeof files;
  });

  /** Runs `expression` with the bundle in a realm that has only `globals`: no process, no fetch, no file system. */
  function inRealm(expression: string, globals: Record<string, unknown>): unknown {
    return runInContext(`${files[0].code};\n${expression}`, createContext(globals));
  }
  const page = { atob, TextEncoder, TextDecoder };

  it('it is one file, with no asset to fetch beside it', () => {
    expect(files.map((file) => file.type)).toStrictEqual(['chunk']);
    expect(files[0].code).not.toMatch(/\bfetch\s*\(|import\.meta|node:/);
  });
  it('it answers in a realm without Node', () => {
    expect(inRealm("policy.checkpointComment('a b')", { ...page })).toBe('turnback-pre-agent-a%20b');
    expect(inRealm('policy.resolveFlag({}).enabled', { ...page })).toBe(true);
  });
  it('its errors are recognised across realms, where instanceof fails', () => {
    const error = thrownBy(() => inRealm("policy.checkpointComment('')", { ...page }));
    expect(error).not.toBeInstanceOf(Error);
    expect(isTurnbackError(error)).toBe(true);
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });
  it('X5: without WebAssembly it can be imported, and using it gives one clear sentence', () => {
    const bare = { ...page, WebAssembly: undefined };
    expect(inRealm('policy.CHECKPOINT_TIMEOUT_MS', { ...bare })).toBe(10_000);
    expect(thrownBy(() => inRealm("policy.checkpointComment('1')", { ...bare }))).toMatchObject({
      code: 'UNSUPPORTED_PLATFORM',
      message: expect.stringContaining('use a host with WebAssembly'),
    });
  });
});
