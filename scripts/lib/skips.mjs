// Which skipped tests CI accepts: those whose reason stands in a committed list. Everything else that did not run is a failure there.
import { readFileSync } from 'node:fs';

/** @param {string} text one reason a line, `#` begins a remark @returns {string[]} */
export const listed = (text) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));

/** @param {string} path */
export const allowedSkips = (path) => listed(readFileSync(path, 'utf8'));

/**
 * The reasons that are not in the list; a line of it that ends with `*` stands for all that begin so.
 * @param {string[]} reasons
 * @param {string[]} allowed
 */
export const unlisted = (reasons, allowed) =>
  [...new Set(reasons)].filter(
    (reason) => !allowed.some((line) => (line.endsWith('*') ? reason.startsWith(line.slice(0, -1)) : reason === line)),
  );
