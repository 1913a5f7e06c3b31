// Reads what picture.c prints.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

/**
 * One path at one moment. Texts are escaped as picture.c prints them: \xHH for every byte that is not printable ASCII.
 * @typedef {object} Entry
 * @property {string} path relative to the root, which is "."
 * @property {string} type file, directory, symlink, fifo, socket, char-device, block-device
 * @property {string} mode twelve bits, octal
 * @property {string} owner uid:gid
 * @property {string} mtime seconds.nanoseconds
 * @property {string} size bytes; major:minor of a device
 * @property {string} inode device:inode
 * @property {number} links
 * @property {number} holes bytes that lie in holes
 * @property {string} sha256 of the content; empty if it is no regular file
 * @property {string} target of a symbolic link
 * @property {string} xattrs name=value, sorted, separated by ;
 */
/** @typedef {Map<string, Entry>} Picture */

const HEAD = '#path\ttype\tmode\tuid\tgid\tmtime\tsize\tinode\tlinks\tholes\tsha256\ttarget\txattrs';

/** @param {string} line @returns {Entry} */
function entry(line) {
  const fields = line.split('\t');
  if (fields.length !== 13) throw new Error(`not a line of a picture (${fields.length} fields): ${line.slice(0, 200)}`);
  const [path, type, mode, uid, gid, mtime, size, inode, links, holes, sha256, target, xattrs] =
    /** @type {[string, string, string, string, string, string, string, string, string, string, string, string, string]} */ (
      fields
    );
  const owner = `${uid}:${gid}`;
  return {
    path,
    type,
    mode,
    owner,
    mtime,
    size,
    inode,
    links: Number(links),
    holes: Number(holes),
    sha256,
    target,
    xattrs,
  };
}

/** @param {AsyncIterable<string>} lines @returns {Promise<Picture>} */
export async function parse(lines) {
  /** @type {Picture} */
  const picture = new Map();
  let first = true;
  for await (const line of lines) {
    if (first) {
      if (line !== HEAD) throw new Error(`not a picture: it begins with ${JSON.stringify(line.slice(0, 80))}`);
      first = false;
    } else {
      const one = entry(line);
      if (picture.has(one.path)) throw new Error(`the picture has the path ${one.path} twice`);
      picture.set(one.path, one);
    }
  }
  if (!picture.has('.')) throw new Error('the picture is empty: it lacks even its root');
  return picture;
}

/** @param {NodeJS.ReadableStream} stream */
export const parseStream = (stream) => parse(createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }));

/** @param {string} file */
export const parseFile = (file) => parseStream(createReadStream(file));

/** A file name's bytes in the same escaping. @param {Uint8Array} bytes */
export function escapeBytes(bytes) {
  let text = '';
  for (const byte of bytes) {
    const plain = byte >= 0x20 && byte <= 0x7e && byte !== 0x5c && byte !== 0x3d && byte !== 0x3b;
    text += plain ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`;
  }
  return text;
}

/** The bytes behind an escaped text. @param {string} text */
export function unescapeBytes(text) {
  /** @type {number[]} */
  const bytes = [];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\') {
      bytes.push(Number.parseInt(text.slice(i + 2, i + 4), 16));
      i += 3;
    } else {
      bytes.push(text.charCodeAt(i));
    }
  }
  return Uint8Array.from(bytes);
}
