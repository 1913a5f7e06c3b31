// Does the engine's own diff tell what the independent comparison sees?
import { escapeBytes } from '../picture/parse.mjs';

/** @typedef {import('../picture/compare.mjs').Difference} Difference */
/** @typedef {import('./engine.mjs').Change} Change */

/**
 * A path of the API in the escaping of the pictures, the root being ".".
 * @param {{ path: string, pathBytes?: Uint8Array | undefined }} named
 */
export const pathOf = ({ path, pathBytes }) => escapeBytes(pathBytes ?? Buffer.from(path)) || '.';

/**
 * Added and deleted paths have to be the same; whatever else differs has to be in the diff, a content as a change of
 * content. The diff may name more paths: the comparison reports a hard-link group by one of its names. And it may leave
 * out directories of which only the mtime differs, which every file that is created or deleted in them changes.
 * @param {readonly Difference[]} differences
 * @param {import('../picture/parse.mjs').Picture} before
 * @param {readonly Change[]} changes
 * @returns {string[]} each disagreement, in words
 */
export function disagreements(differences, before, changes) {
  /** @type {Map<string, string>} */
  const said = new Map();
  for (const change of changes) said.set(pathOf(change), change.kind);
  /** @type {Map<string, Set<string>>} */
  const seen = new Map();
  for (const { path, kind } of differences) seen.set(path, (seen.get(path) ?? new Set()).add(kind));
  /** @type {string[]} */
  const found = [];
  for (const [path, kinds] of seen) {
    const has = (/** @type {string[]} */ ...wanted) => wanted.some((kind) => kinds.has(kind));
    const expected = has('missing')
      ? ['deleted']
      : has('extra')
        ? ['added']
        : has('type')
          ? ['type_changed']
          : has('bytes', 'target')
            ? ['modified']
            : ['metadata', 'modified'];
    const kind = said.get(path) ?? 'nothing';
    const onlyTime = kinds.size === 1 && kinds.has('mtime') && before.get(path)?.type === 'directory';
    if (onlyTime && kind === 'nothing') continue;
    if (!expected.includes(kind)) found.push(`${path}: ${[...kinds].join(', ')}, but the diff says ${kind}`);
  }
  for (const [path, kind] of said) {
    if ((kind === 'added' || kind === 'deleted') && !seen.has(path))
      found.push(`${path}: the diff says ${kind}, but it is not`);
  }
  return found;
}
