// npm run pack: packs what a release consists of into target/packages, from the packages as they are built.
//   npm run pack -- --binary linux-arm64-gnu=FILE …   with the binaries of other platforms; by default this machine's alone
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { layOut, ownPlatform, pack } from './lib/release.mjs';
import { size, table } from './lib/text.mjs';
import { Trouble } from './lib/tools.mjs';

try {
  const { values } = parseArgs({ options: { binary: { type: 'string', multiple: true }, out: { type: 'string' } } });
  const root = join(import.meta.dirname, '..');
  const out = values.out ?? join(root, 'target', 'packages');
  const given = (values.binary ?? []).map((text) => {
    const [name = '', file = ''] = text.split('=', 2);
    if (file === '') throw new Trouble(`--binary ${text} names no file: pass PLATFORM=FILE.`);
    return /** @type {const} */ ([name, file]);
  });
  const own = /** @type {const} */ ([ownPlatform(), join(root, 'node', 'turnback.node')]);
  const binaries = new Map(given.length > 0 ? given : [own]);
  for (const file of [...binaries.values(), join(root, 'node', 'dist', 'index.js'), join(root, 'wasm', 'pkg')]) {
    if (!existsSync(file)) throw new Trouble(`${file} is not there: run \`npm run build\` first.`);
  }
  const packed = layOut(root, join(out, 'directories'), binaries).map((directory) => pack(directory, out));
  const rows = packed.map(({ file, bytes, unpackedBytes }) => [
    relative(process.cwd(), file),
    size(bytes),
    size(unpackedBytes),
  ]);
  console.log(table([['package', 'packed', 'unpacked'], ...rows], { right: [1, 2] }));
} catch (error) {
  if (!(error instanceof Trouble)) throw error;
  console.error(`npm run pack: ${error.message}`);
  process.exitCode = 1;
}
