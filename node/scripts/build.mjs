// npm run build -w turnback: the addon (by cargo, in the workspace's own target directory), its types, the TypeScript's types, and
// the JavaScript in few files.
// `--write-types` also writes lib/native.d.ts, which is committed; js-tests compare it with what this build generated.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { bundle } from './bundle.mjs';
import { declarations } from './types.mjs';

const here = join(import.meta.dirname, '..');
const CRATE = 'turnback-node';

/** @param {string} command @param {string[]} args @param {object} [options] */
function run(command, args, options = {}) {
  const done = spawnSync(command, args, {
    cwd: here,
    stdio: ['ignore', 'pipe', 'inherit'],
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    ...options,
  });
  if (done.error) throw new Error(`${command} cannot be run: ${done.error.message}`);
  if (done.status !== 0) {
    process.stderr.write(done.stdout ?? '');
    console.error(`${command} ${args.join(' ')} failed`);
    process.exit(1);
  }
  return done.stdout;
}

/** Writes a file only if its content is new, so that whoever looks at its time sees what happened. */
function write(file, content) {
  if (existsSync(file) && readFileSync(file, 'utf8') === content) return;
  writeFileSync(file, content);
}

/** Puts the addon beside the package. By rename: a running process may have the old one mapped. */
function place(from, to) {
  const fresh =
    existsSync(to) && statSync(to).size === statSync(from).size && readFileSync(to).equals(readFileSync(from));
  if (fresh) return;
  copyFileSync(from, `${to}.new`);
  renameSync(`${to}.new`, to);
}

const metadata = JSON.parse(run('cargo', ['metadata', '--format-version', '1', '--no-deps']));
const types = join(metadata.target_directory, 'napi-types');
mkdirSync(types, { recursive: true });
const collected = join(types, CRATE);

/** Types are collected while the crate compiles: cargo recompiles it when this variable changes. */
const env = { ...process.env, NAPI_TYPE_DEF_TMP_FOLDER: types };
if (!existsSync(collected)) env.NAPI_FORCE_BUILD_TURNBACK_NODE = String(Date.now());
const messages = run('cargo', ['build', '-p', CRATE, '--release', '--message-format', 'json-render-diagnostics'], {
  env,
});
const library = messages
  .split('\n')
  .filter((line) => line.startsWith('{'))
  .map((line) => JSON.parse(line))
  .filter((message) => message.reason === 'compiler-artifact' && message.target.name === CRATE.replace('-', '_'))
  .flatMap((message) => message.filenames)
  .find((name) => /\.(so|dylib|dll)$/.test(name));
if (library === undefined) throw new Error(`cargo built no library of ${CRATE}`);
place(library, join(here, 'turnback.node'));

const dts = declarations(readFileSync(collected, 'utf8'));
if (process.argv.includes('--write-types')) write(join(here, 'lib', 'native.d.ts'), dts);
if (!existsSync(join(here, 'dist', 'index.js'))) rmSync(join(here, 'dist'), { recursive: true, force: true });
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
// The guard's shell lives in the other package, whose TypeScript needs no Rust: only the rest of that package does.
run(process.execPath, [tsc, '-p', join('..', 'wasm', 'tsconfig.shell.json')], { stdio: 'inherit' });
run(process.execPath, [tsc, '-p', '.'], { stdio: 'inherit' });
await bundle(here);
write(join(here, 'dist', 'native.d.ts'), dts);
