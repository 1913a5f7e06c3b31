import { node } from './builtin.js';
import type { Check } from './check.js';
import { invalidArgument, TurnbackError } from './errors.js';

/** A path: text, or its bytes where it is not valid UTF-8. */
export type Path = string | Uint8Array;

/** The longest path that Linux takes in one call, in bytes. Ours go deeper, name by name; this only bounds an argument. */
const MAX_BYTES = 1 << 20;
const SLASH = 0x2f;

/** A path's bytes. */
export const pathBytes: Check<Buffer> = (name, value) => {
  if (typeof value !== 'string' && !node.util.types.isUint8Array(value)) {
    throw invalidArgument(name, `${name} is no path: pass a string or a Uint8Array`);
  }
  if (typeof value === 'string' && /\p{Surrogate}/u.test(value)) {
    throw invalidArgument(name, `${name} holds half of a surrogate pair: pass the path's bytes as a Uint8Array`);
  }
  const bytes = Buffer.from(value as string);
  if (bytes.length === 0) throw invalidArgument(name, `${name} is empty: pass a path`);
  if (bytes.length > MAX_BYTES) throw invalidArgument(name, `${name} has over ${MAX_BYTES} bytes: that is no path`);
  if (bytes.includes(0)) throw invalidArgument(name, `${name} holds a NUL byte: no path does`);
  return bytes;
};

/**
 * An absolute path's bytes. A relative one is resolved here, once, by the caller's working directory (C5). It is joined and
 * not normalised: what `..` means behind a symbolic link is the kernel's to say.
 */
export const absolute: Check<Buffer> = (name, value) => {
  const bytes = pathBytes(name, value);
  return bytes[0] === SLASH ? bytes : Buffer.concat([workingDirectory(name), Buffer.from('/'), bytes]);
};

function workingDirectory(name: string): Buffer {
  try {
    const directory = process.cwd();
    // Node replaces what is not UTF-8; the kernel still has the bytes.
    return directory.includes('\ufffd')
      ? node.fs.readlinkSync('/proc/self/cwd', { encoding: 'buffer' })
      : Buffer.from(directory);
  } catch (cause) {
    throw new TurnbackError(
      'NOT_FOUND',
      `${name} is relative, and the working directory does not exist any more: pass an absolute path`,
      { cause },
    );
  }
}
