// W11: what a page downloads, minified and gzipped.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build, type Rolldown } from 'vite';
import { describe, expect, it } from 'vitest';

/** The bytes of a bundle whose entry has this text. */
async function bundled(text: string): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'turnback-size-'));
  try {
    const entry = join(folder, 'all.mjs');
    writeFileSync(entry, text);
    const built = await build({
      configFile: false,
      logLevel: 'silent',
      root: folder,
      build: { write: false, minify: true, lib: { entry, name: 'policy', formats: ['es'] } },
    });
    const { output } = (Array.isArray(built) ? built[0] : built) as Rolldown.RolldownOutput;
    return output.reduce((sum, file) => sum + gzipSync('code' in file ? file.code : file.source).length, 0);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const entry = (name: string) => JSON.stringify(fileURLToPath(import.meta.resolve(name)));
const beside = (file: string) => JSON.stringify(fileURLToPath(new URL(`../../wasm/dist/${file}`, import.meta.url)));

describe('W11: minified and gzipped', () => {
  it.each<[string, string, number]>([
    // The one module of gate, pure functions and simulation, with its glue and all that starts it.
    ['the module and its glue', `export * from ${beside('loader.js')};`, 60_000],
    ['a page that uses the guard only', `export { createGuard } from ${entry('turnback-policy')};`, 71_000],
    ['all of the main entry', `export * from ${entry('turnback-policy')};`, 76_000],
  ])('%s', async (_what, text, most) => {
    const bytes = await bundled(text);
    expect(bytes).toBeGreaterThan(most * 0.8);
    expect(bytes).toBeLessThanOrEqual(most);
  });
});
