// G14, P2, P5: the proof that a command only reads, as a second WebAssembly module that only who asks for it has.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createContext, runInContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { isReadOnly, judgeCommand } from 'turnback-policy/read-only';
import { build, type Rolldown } from 'vite';
import { expect, it } from 'vitest';
import { replayReadOnly } from '../vectors/read-only-table.js';

replayReadOnly('WebAssembly', { isReadOnly, judgeCommand });

/** Three quarters of it are the shell's grammar. */
const MOST_BYTES = 100_000;

async function bundled(entry: string): Promise<Rolldown.RolldownOutput['output']> {
  const folder = mkdtempSync(join(tmpdir(), 'turnback-read-only-'));
  try {
    const file = join(folder, 'all.mjs');
    writeFileSync(file, `export * from ${JSON.stringify(fileURLToPath(import.meta.resolve(entry)))};\n`);
    const built = await build({
      configFile: false,
      logLevel: 'silent',
      root: folder,
      build: { write: false, minify: true, lib: { entry: file, name: 'proof', formats: ['iife'] } },
    });
    return ((Array.isArray(built) ? built[0] : built) as Rolldown.RolldownOutput).output;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

it('is one file of at most 100 kB, minified and gzipped, that works in a realm without Node', async () => {
  const files = await bundled('turnback-policy/read-only');
  expect(files.map((file) => file.type)).toStrictEqual(['chunk']);
  const { code } = files[0];
  expect(gzipSync(code).length).toBeLessThanOrEqual(MOST_BYTES);
  const realm = createContext({ TextEncoder, TextDecoder });
  expect(runInContext(`${code};\n[proof.isReadOnly('ls'), proof.isReadOnly('rm x')].join()`, realm)).toBe('true,false');
});

it('W11: nothing of it is in a bundle of the package without it', async () => {
  const [{ code }] = await bundled('turnback-policy');
  expect(code).not.toContain('whyNotReadOnly');
});
