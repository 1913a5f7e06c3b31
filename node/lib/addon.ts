import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { node } from './builtin.js';
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

function load(): { addon: Addon } | { error: TurnbackError } {
  const here = `${process.platform} ${process.arch}`;
  if (process.platform !== 'linux') {
    return failed(
      'UNSUPPORTED_PLATFORM',
      `turnback's checkpoints work on Linux only so far, and this is ${here}: use the policy functions here, and run checkpoints on Linux`,
    );
  }
  const file = fileURLToPath(new URL('../turnback.node', import.meta.url));
  if (!node.fs.existsSync(file)) {
    return failed(
      'NATIVE_BINARY_MISSING',
      `turnback's native binary for ${here} is missing (${file}): install the package again, or build it with \`npm run build -w turnback\``,
    );
  }
  try {
    const addon: Addon = createRequire(import.meta.url)(file);
    const [built, wanted] = [addon.version(), packageVersion()];
    if (built === wanted) return { addon };
    return failed(
      'NATIVE_BINARY_MISSING',
      `turnback's native binary has version ${built} where ${wanted} is needed (${file}): install the package again, or build it anew`,
    );
  } catch (cause) {
    return failed(
      'NATIVE_BINARY_MISSING',
      `turnback's native binary cannot be loaded on ${here} (${file}): install the package again on this machine`,
      cause,
    );
  }
}

function failed(code: 'UNSUPPORTED_PLATFORM' | 'NATIVE_BINARY_MISSING', message: string, cause?: unknown) {
  return { error: new TurnbackError(code, message, { cause }) };
}
