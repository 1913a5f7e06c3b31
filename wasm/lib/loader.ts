import * as glue from '../pkg/policy_bg.js';
import { hex } from '../pkg/policy_bytes.js';
import { unsupported } from './error.js';

/** The module's functions. */
export type Policy = typeof glue;

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
    const bytes = new Uint8Array(hex.length / 2);
    for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number.parseInt(hex.slice(2 * at, 2 * at + 2), 16);
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
