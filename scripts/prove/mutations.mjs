// What keeps the promises, and the test that fails without it. `take` is the exact text in `file` that is replaced by `give`; where it
// stands more than once, `nth` tells which one (from 1). `test` is a file beneath engine/tests, then the test's name.
import { flags } from './flags.mjs';
import { locks } from './locks.mjs';
import { sandboxes } from './sandboxes.mjs';
import { syncs } from './syncs.mjs';

/** @typedef {{ what: string, file: string, take: string, give: string, nth?: number, test: string, and?: [string, string, string?][] }} Mutation */

const SRC = 'engine/src/';

/** @type {{ title: string, all: Mutation[] }[]} */
export const MUTATIONS = [
  { title: 'Syncs', all: syncs },
  { title: 'Flags', all: flags },
  { title: 'Locks', all: locks },
  { title: 'Commits and git', all: sandboxes },
].map(({ title, all }) => ({ title, all: all.map((one) => ({ ...one, file: SRC + one.file })) }));
