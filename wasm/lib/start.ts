import { poisoned, unsupported } from './error.js';

/** The glue that wasm-bindgen made for a module. */
interface Glue {
  start(exports: WebAssembly.Exports): void;
}

/** How `cargo xtask wasm` prints a byte: shifted by this much, */
const SHIFT = 14;
/** as the character so far behind this one. */
const FIRST = 0x20;

/**
 * A module of the package, to be asked for at each use: started on the first one, and started anew on the first one after it broke.
 *
 * Its bytes come as text inside the package, and it is started synchronously. So there is no file to fetch, no URL for a
 * bundler to miss and no promise to await: the same code runs in Node, pages, workers and bundles, and an import that is
 * never used costs nothing. (The modules are far below the size up to which a page may compile synchronously.)
 *
 * @param name the module's, as `cargo xtask wasm` calls its files
 * @param connect makes glue for a new instance
 */
export function moduleOf<G extends Glue>(name: string, text: string, connect: () => G): () => G {
  let loaded: G | undefined;
  const forget = () => {
    loaded = undefined;
  };
  return () => {
    loaded ??= started(name, text, connect, forget);
    return loaded;
  };
}

function started<G extends Glue>(name: string, text: string, connect: () => G, broke: () => void): G {
  try {
    const glue = connect();
    // Its own bytes wrap at 256, and so do those characters that had to be moved that far.
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0) - FIRST - SHIFT);
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
      [`./${name}_bg.js`]: { ...glue } as unknown as WebAssembly.ModuleImports,
    });
    glue.start(watched(name, instance.exports, broke));
    return glue;
  } catch (error) {
    throw unsupported(
      "turnback-policy cannot start its WebAssembly module here: use a host with WebAssembly, and allow 'wasm-unsafe-eval' if a content security policy forbids it",
      error,
    );
  }
}

/**
 * An instance's exports, watched: what it refuses it returns, so whatever one of them throws is a trap. From then on the instance is
 * never entered again, because its memory is as the trap left it; all that still belongs to it says so.
 */
function watched(name: string, exports: WebAssembly.Exports, broke: () => void): WebAssembly.Exports {
  let trap: { cause: unknown } | undefined;
  const watch = (call: (...args: unknown[]) => unknown, frees: boolean) => {
    return (...args: unknown[]) => {
      try {
        if (trap === undefined) return call(...args);
      } catch (cause) {
        trap = { cause };
        broke();
      }
      // Memory is given back in `finally` and by the garbage collector, where an error hides another, or nobody hears of it.
      if (frees) return undefined;
      throw poisoned(name, trap.cause);
    };
  };
  const entries = Object.entries(exports).map(([key, value]) => [
    key,
    typeof value === 'function' ? watch(value as (...args: unknown[]) => unknown, key.endsWith('_free')) : value,
  ]);
  return Object.fromEntries(entries);
}
