// Remembers from which inputs an output was built, so that a second run builds nothing twice.
// Contents count, not times: a fresh clone, a checkout or a restored backup has new times and old contents.
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

/** Folders that hold results, never inputs. */
const RESULTS = new Set(['node_modules', 'target', 'dist', 'pkg', '.git', 'coverage']);

/**
 * @param {import('node:crypto').Hash} hash
 * @param {string} path
 * @param {(name: string) => boolean} skip
 */
function add(hash, path, skip) {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) {
    hash.update(`${path}\0missing\0`);
  } else if (stat.isSymbolicLink()) {
    hash.update(`${path}\0link\0${readlinkSync(path)}\0`);
  } else if (stat.isDirectory()) {
    for (const name of readdirSync(path).sort()) {
      if (!skip(name)) add(hash, join(path, name), skip);
    }
  } else if (stat.isFile()) {
    hash.update(`${path}\0${stat.size}\0`).update(readFileSync(path));
  }
}

/** @param {string[]} paths @param {(name: string) => boolean} skip @param {string} extra */
function hashOf(paths, skip, extra = '') {
  const hash = createHash('sha256').update(extra);
  for (const path of paths) add(hash, path, skip);
  return hash.digest('hex');
}

/**
 * @param {object} what
 * @param {string} what.file where to remember it
 * @param {string[]} what.inputs files and folders; folders of results and *.node inside them do not count
 * @param {string} [what.extra] what else the outputs depend on
 * @param {string[]} [what.outputs] files and folders that have to be as the build left them
 * @param {string[]} [what.present] files and folders that merely have to exist (too large to read each time)
 */
export function stamp({ file, inputs, extra = '', outputs = [], present = [] }) {
  const inputsNow = () =>
    hashOf(inputs, (name) => RESULTS.has(name) || name.endsWith('.node') || name.endsWith('.tsbuildinfo'), extra);
  const outputsNow = () => hashOf(outputs, () => false);
  let before = '';
  return {
    /** True if the outputs are what these inputs gave. */
    fresh() {
      if (![...outputs, ...present].every((path) => existsSync(path))) return false;
      if (!existsSync(file)) return false;
      return readFileSync(file, 'utf8') === `${inputsNow()} ${outputsNow()}\n`;
    },
    /** Call before building: a build that is interrupted must not look finished. */
    begin() {
      rmSync(file, { force: true });
      before = inputsNow();
    },
    /** Call after a build that succeeded. Inputs that were edited meanwhile are built again the next time. */
    remember() {
      if (inputsNow() !== before) return;
      mkdirSync(join(file, '..'), { recursive: true });
      writeFileSync(file, `${before} ${outputsNow()}\n`);
    },
  };
}
