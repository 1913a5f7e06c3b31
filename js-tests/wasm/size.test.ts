// W11: what a page downloads when it uses everything that the policy package exports: WebAssembly, glue and shell in one bundle.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';
import { expect, it } from 'vitest';

const MOST_BYTES = 60_000;

it('W11: all of it, minified and gzipped, is at most 60 kB', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnback-size-'));
  try {
    const entry = join(folder, 'all.mjs');
    const module = fileURLToPath(import.meta.resolve('turnback-policy'));
    writeFileSync(entry, `export * from ${JSON.stringify(module)};\n`);
    const built = await build({
      configFile: false,
      logLevel: 'silent',
      root: folder,
      build: { write: false, minify: true, lib: { entry, name: 'policy', formats: ['es'] } },
    });
    const { output } = (Array.isArray(built) ? built[0] : built) as Rolldown.RolldownOutput;
    const bytes = output.reduce((sum, file) => sum + gzipSync('code' in file ? file.code : file.source).length, 0);
    expect(bytes).toBeGreaterThan(MOST_BYTES / 2);
    expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
