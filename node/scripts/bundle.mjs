// The JavaScript of the package: the library in one file, the command line in another and each adapter in one, because Node takes about a millisecond for
// each file that it imports (W9). Types stay one file a module: TypeScript reads them, and editors show their comments.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';

/**
 * What is built, from where. What holds the library lies beside its other files: the addon is looked for from where the code is.
 * Adapters need none, and fixtures import the library. Jest runs CommonJS by default and cannot `require()` modules in Node before
 * 24.9, so its fixture is there as CommonJS as well, with the library inside.
 */
const FILES = {
  'index.js': 'lib/index.ts',
  'cli.js': 'lib/cli/main.ts',
  'adapters/ai.js': 'lib/adapters/ai.ts',
  'adapters/claude-agent-sdk.js': 'lib/adapters/claude-agent-sdk.ts',
  'adapters/mcp.js': 'lib/adapters/mcp.ts',
  'adapters/openai-agents.js': 'lib/adapters/openai-agents.ts',
  'adapters/plain.js': 'lib/adapters/plain.ts',
  'opentelemetry.js': 'lib/opentelemetry.ts',
  'recording/index.js': 'lib/recording/index.ts',
  'testing/vitest.js': 'lib/testing/vitest.ts',
  'testing/node-test.js': 'lib/testing/node-test.ts',
  'testing/jest.js': 'lib/testing/jest.ts',
  'testing/playwright.js': 'lib/testing/playwright.ts',
  'jest.cjs': 'lib/testing/jest.ts',
};

/** Leaves the names and lines in a map, for stack traces, and not the sources themselves. @param {string} path */
function withoutSources(path) {
  const { sourcesContent: _, ...map } = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify(map));
}

/** @param {string} here the package's folder */
export async function bundle(here) {
  const written = new Set();
  for (const [file, input] of Object.entries(FILES)) {
    const built = await rolldown({
      cwd: here,
      input,
      platform: 'node',
      tsconfig: 'tsconfig.json',
      // The other package is loaded when it is first used.
      external: [/^node:/, /^turnback-policy(\/|$)/, ...(file.startsWith('testing/') ? ['../index.js'] : [])],
    });
    const { output } = await built.write({
      file: join('dist', file),
      format: file.endsWith('.cjs') ? 'cjs' : 'esm',
      sourcemap: true,
      // Most of the time of an import is parsing (W9). Names of functions and classes stay, for stack traces.
      minify: { compress: true, mangle: { keepNames: true }, codegen: { removeWhitespace: true } },
    });
    await built.close();
    for (const { fileName } of output) {
      const path = join(here, 'dist', dirname(file), fileName);
      written.add(path);
      if (fileName.endsWith('.map')) withoutSources(path);
    }
  }
  for (const entry of readdirSync(join(here, 'dist'), { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    // From an earlier build.
    if (entry.isFile() && /\.c?js(\.map)?$/.test(file) && !written.has(file)) rmSync(file);
  }
}
