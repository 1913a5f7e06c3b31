import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { node } from './builtin.js';
import { elfProblem } from './elf.js';
import { TurnbackError } from './errors.js';
import type * as native from './native.js';

/** The native half: `node/src`. */
export type Addon = typeof native;

/** What the attempt to load the addon gave, kept: the second use must not try again. */
let loaded: { addon: Addon } | { error: TurnbackError } | undefined;

/**
 * The addon, loaded on first use. Importing the package does not load it and cannot fail (X5, W9).
 *
 * @throws TurnbackError `UNSUPPORTED_PLATFORM` or `NATIVE_BINARY_MISSING`
 */
export function addon(): Addon {
  loaded ??= load();
  if ('error' in loaded) throw loaded.error;
  return loaded.addon;
}

/** The addon, or `undefined` where there is none that works: what `core` decides is then asked of its wasm build. */
export function addonIfAny(): Addon | undefined {
  loaded ??= load();
  return 'addon' in loaded ? loaded.addon : undefined;
}

/** The version of the npm package. */
export function packageVersion(): string {
  const manifest: unknown = JSON.parse(node.fs.readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version);
  return 'unknown';
}

/** The C libraries that there are packages for; npm installs the one that fits, and what does not fit does not load. */
const LIBCS = ['gnu', 'musl'] as const;

function load(): { addon: Addon } | { error: TurnbackError } {
  const { platform, arch } = process;
  if (platform !== 'linux') {
    return failed(
      'UNSUPPORTED_PLATFORM',
      `turnback's checkpoints work on Linux only so far, and this is ${platform} ${arch}: use the policy functions here, and run checkpoints on Linux`,
    );
  }
  const require = createRequire(import.meta.url);
  const packages = LIBCS.map((libc) => `turnback-linux-${arch}-${libc}`);
  // Beside the code where it was built or packed on this machine, otherwise in a package of its own, an optional dependency.
  const beside = fileURLToPath(new URL('../turnback.node', import.meta.url));
  const files = node.fs.existsSync(beside) ? [beside] : packages.flatMap((name) => resolved(require, name));
  const attempts = files.map((file) => loadFile(require, file));
  const missing = failed(
    'NATIVE_BINARY_MISSING',
    `turnback's native binary for linux ${arch} is missing (there is neither ${beside} nor a package ${packages.join(' or ')}): install the package again on this machine, with its optional dependencies, or build it with \`npm run build -w turnback\``,
  );
  return attempts.find((attempt) => 'addon' in attempt) ?? attempts[0] ?? missing;
}

/** The file that a package stands for, if it is installed: also one that is not there, or is no file, so that this is what is said. */
function resolved(require: NodeJS.Require, name: string): string[] {
  try {
    return [require.resolve(`${name}/package.json`).replace(/package\.json$/, 'turnback.node')];
  } catch {
    return [];
  }
}

function loadFile(require: NodeJS.Require, file: string): { addon: Addon } | { error: TurnbackError } {
  const cannot = (problem: string, cause?: unknown) =>
    failed(
      'NATIVE_BINARY_MISSING',
      `turnback's native binary cannot be loaded on linux ${process.arch} (${file}), because ${problem}: install the package again on this machine`,
      cause,
    );
  try {
    const problem = elfProblem(file, process.arch);
    if (problem !== undefined) return cannot(problem);
    const addon: Addon = require(file);
    const [built, wanted] = [versionOf(addon), packageVersion()];
    if (built === undefined) return cannot("it is not turnback's addon, but that of something else");
    return built === wanted ? { addon } : cannot(`it has version ${built} where ${wanted} is needed`);
  } catch (cause) {
    return cannot(firstLine(cause), cause);
  }
}

/** What an addon says of itself; one of another package may be anything. */
function versionOf(addon: unknown): string | undefined {
  const { version } = Object(addon) as { version?: unknown };
  const built: unknown = typeof version === 'function' ? version() : undefined;
  return typeof built === 'string' ? built : undefined;
}

const firstLine = (error: unknown) => (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';

function failed(code: 'UNSUPPORTED_PLATFORM' | 'NATIVE_BINARY_MISSING', message: string, cause?: unknown) {
  return { error: new TurnbackError(code, message, { cause }) };
}
