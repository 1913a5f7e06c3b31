import * as glue from '../pkg/policy_bg.js';
import { text } from '../pkg/policy_bytes.js';
import { unsupported } from './error.js';

/** The module's functions. */
export type Policy = typeof glue;

/** How `cargo xtask wasm` prints a byte: shifted by this much, */
const SHIFT = 14;
/** as the character so far behind this one. */
const FIRST = 0x20;

let loaded: Policy | undefined;

/**
 * The module, started on first use and kept.
 *
 * Its bytes come as text inside the package, and it is started synchronously. So there is no file to fetch, no URL for a
 * bundler to miss and no promise to await: the same code runs in Node, pages, workers and bundles, and an import that is
 * never used costs nothing. (The module is far below the size up to which a page may compile synchronously.)
 */
export function policy(): Policy {
  loaded ??= load();
  return loaded;
}

function load(): Policy {
  try {
    // Its own bytes wrap at 256, and so do those characters that had to be moved that far.
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0) - FIRST - SHIFT);
    const instance = new WebAssembly.Instance(new WebAssembly.Module(bytes), { './policy_bg.js': { ...glue } });
    glue.start(instance.exports);
    return glue;
  } catch (error) {
    throw unsupported(
      "turnback-policy cannot start its WebAssembly module here: use a host with WebAssembly, and allow 'wasm-unsafe-eval' if a content security policy forbids it",
      error,
    );
  }
}
