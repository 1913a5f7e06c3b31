import { unsupported } from './error.js';

/** The glue that wasm-bindgen made for a module. */
interface Glue {
  start(exports: WebAssembly.Exports): void;
}

/** How `cargo xtask wasm` prints a byte: shifted by this much, */
const SHIFT = 14;
/** as the character so far behind this one. */
const FIRST = 0x20;

/**
 * Starts a module of the package and connects it with its glue.
 *
 * Its bytes come as text inside the package, and it is started synchronously. So there is no file to fetch, no URL for a
 * bundler to miss and no promise to await: the same code runs in Node, pages, workers and bundles, and an import that is
 * never used costs nothing. (The modules are far below the size up to which a page may compile synchronously.)
 *
 * @param name the module's, as `cargo xtask wasm` calls its files
 */
export function started<G extends Glue>(name: string, text: string, glue: G): G {
  try {
    // Its own bytes wrap at 256, and so do those characters that had to be moved that far.
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0) - FIRST - SHIFT);
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
      [`./${name}_bg.js`]: { ...glue } as unknown as WebAssembly.ModuleImports,
    });
    glue.start(instance.exports);
    return glue;
  } catch (error) {
    throw unsupported(
      "turnback-policy cannot start its WebAssembly module here: use a host with WebAssembly, and allow 'wasm-unsafe-eval' if a content security policy forbids it",
      error,
    );
  }
}
