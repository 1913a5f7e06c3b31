// The JavaScript of the package: the library in one file, the command line in another and each adapter in one, because Node takes about a millisecond for
// each file that it imports (W9). Types stay one file a module: TypeScript reads them, and editors show their comments.
import { readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { rolldown } from 'rolldown';

/** What is built, from where. The first two lie beside each other: the addon is looked for from where the code is; adapters need none. */
const FILES = {
  'index.js': 'lib/index.ts',
  'cli.js': 'lib/cli/main.ts',
  'adapters/ai.js': 'lib/adapters/ai.ts',
  'adapters/mcp.js': 'lib/adapters/mcp.ts',
  'adapters/openai-agents.js': 'lib/adapters/openai-agents.ts',
  'adapters/plain.js': 'lib/adapters/plain.ts',
};

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
      external: [/^node:/, /^turnback-policy(\/|$)/],
    });
    const { output } = await built.write({
      file: join('dist', file),
      format: 'esm',
      sourcemap: true,
      // Half of the time of an import is reading the text, and half of the text is comments and spaces. Names stay, for stack traces.
      minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
    });
    await built.close();
    for (const { fileName } of output) written.add(join(here, 'dist', dirname(file), fileName));
  }
  for (const entry of readdirSync(join(here, 'dist'), { recursive: true, withFileTypes: true })) {
    const file = join(entry.parentPath, entry.name);
    // From an earlier build.
    if (entry.isFile() && /\.js(\.map)?$/.test(file) && !written.has(file)) rmSync(file);
  }
}
