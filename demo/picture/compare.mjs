// Compares two pictures of a tree and lists every difference. Also a program: node compare.mjs BEFORE AFTER
import { pathToFileURL } from 'node:url';
import { parseFile } from './parse.mjs';

/** @typedef {import('./parse.mjs').Entry} Entry */
/** @typedef {import('./parse.mjs').Picture} Picture */
/** @typedef {'missing' | 'extra' | 'type' | 'bytes' | 'owner' | 'mode' | 'mtime' | 'target' | 'hardlinks' | 'xattrs' | 'holes'} Kind */
/** @typedef {{ path: string, kind: Kind, before: string, after: string }} Difference */

/** A file that was sparse by at least this much must not come back without any hole. */
const SPARSE_BYTES = 65_536;

/** @param {Entry} entry */
const describe = (entry) => (entry.type === 'file' ? `file of ${entry.size} bytes` : entry.type);

/** @param {Entry} a @param {Entry} b @returns {Difference[]} */
function compareEntry(a, b) {
  const path = a.path;
  if (a.type !== b.type) return [{ path, kind: 'type', before: describe(a), after: describe(b) }];
  /** @type {Difference[]} */
  const found = [];
  if (a.size !== b.size || a.sha256 !== b.sha256) {
    const [before, after] = [a, b].map((e) => `${e.size} bytes ${e.sha256.slice(0, 12)}`.trim());
    found.push({ path, kind: 'bytes', before: String(before), after: String(after) });
  }
  for (const kind of /** @type {const} */ (['owner', 'mode', 'mtime', 'target', 'xattrs'])) {
    if (a[kind] !== b[kind]) found.push({ path, kind, before: a[kind] || 'none', after: b[kind] || 'none' });
  }
  if (a.holes >= SPARSE_BYTES && b.holes === 0) {
    found.push({ path, kind: 'holes', before: `${a.holes} bytes in holes`, after: 'no holes' });
  }
  return found;
}

/**
 * For each path that shares its inode with others of `common`: the paths of that group, first the smallest.
 * @param {Picture} picture @param {Set<string>} common
 */
function linkGroups(picture, common) {
  /** @type {Map<string, string[]>} */
  const byInode = new Map();
  for (const { path, inode, links, type } of picture.values()) {
    if (type === 'directory' || links < 2 || !common.has(path)) continue;
    const group = byInode.get(inode);
    if (group) group.push(path);
    else byInode.set(inode, [path]);
  }
  /** @type {Map<string, string[]>} */
  const groups = new Map();
  for (const group of byInode.values()) {
    if (group.length < 2) continue;
    group.sort();
    for (const path of group) groups.set(path, group);
  }
  return groups;
}

/**
 * Which paths are one file is a partition of the paths; inode numbers may differ. Paths that one of the pictures lacks
 * are reported as missing or extra and play no part here, nor do those whose type differs. One difference is reported
 * for each set of paths that were, or now are, tied together.
 * @param {Picture} before @param {Picture} after @returns {Difference[]}
 */
function compareLinks(before, after) {
  const common = new Set([...before.keys()].filter((path) => before.get(path)?.type === after.get(path)?.type));
  const was = linkGroups(before, common);
  const is = linkGroups(after, common);
  /** @type {Difference[]} */
  const found = [];
  /** @type {Set<string>} */
  const seen = new Set();
  for (const start of [...new Set([...was.keys(), ...is.keys()])].sort()) {
    if (seen.has(start)) continue;
    const tied = [start];
    seen.add(start);
    for (const path of tied) {
      for (const other of [...(was.get(path) ?? []), ...(is.get(path) ?? [])]) {
        if (!seen.has(other)) {
          seen.add(other);
          tied.push(other);
        }
      }
    }
    tied.sort();
    /** @param {Map<string, string[]>} groups */
    const partition = (groups) => {
      const parts = [...new Set(tied.map((path) => groups.get(path) ?? path))];
      return parts.map((part) => `{${typeof part === 'string' ? part : part.join(', ')}}`).join(' ');
    };
    const [one, two] = [partition(was), partition(is)];
    if (one !== two) found.push({ path: start, kind: 'hardlinks', before: one, after: two });
  }
  return found;
}

/** @param {Picture} before @param {Picture} after @returns {Difference[]} sorted by path */
export function compare(before, after) {
  /** @type {Difference[]} */
  const found = [];
  for (const [path, a] of before) {
    const b = after.get(path);
    if (b) found.push(...compareEntry(a, b));
    else found.push({ path, kind: 'missing', before: describe(a), after: 'nothing' });
  }
  for (const [path, b] of after) {
    if (!before.has(path)) found.push({ path, kind: 'extra', before: 'nothing', after: describe(b) });
  }
  found.push(...compareLinks(before, after));
  return found.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

/** How many differences there are of each kind. @param {Difference[]} differences */
export function byKind(differences) {
  /** @type {Map<string, number>} */
  const kinds = new Map();
  for (const { kind } of differences) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  return kinds;
}

/** @param {Difference} difference */
export const line = ({ path, kind, before, after }) => `${kind.padEnd(9)}  ${path}  (${before} → ${after})`;

async function main() {
  const args = process.argv.slice(2);
  if (args.includes('-h') || args.includes('--help')) {
    console.log(
      'usage: node demo/picture/compare.mjs BEFORE AFTER\n\n' +
        'Compares two files that picture DIR printed. Lists every difference in type, bytes, owner, mode, mtime, link\n' +
        'target, hard-link groups, extended attributes and lost holes, and every missing or extra path.\n' +
        'Exit codes: 0 the same, 1 different, 2 wrong usage or not a picture.',
    );
    return 0;
  }
  const [one, two] = args;
  if (args.length !== 2 || one === undefined || two === undefined) {
    console.error('usage: node demo/picture/compare.mjs BEFORE AFTER (-h tells more)');
    return 2;
  }
  const before = await parseFile(one);
  const differences = compare(before, await parseFile(two));
  for (const difference of differences) console.log(line(difference));
  console.log(`${before.size} paths before, ${differences.length} differences`);
  return differences.length === 0 ? 0 : 1;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  process.exitCode = await main().catch((error) => {
    console.error(`compare: ${error.message}`);
    return 2;
  });
}
