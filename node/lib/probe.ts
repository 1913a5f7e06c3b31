import { addon } from './addon.js';
import { unwrap } from './failure.js';
import type { NativeFinding } from './native.js';
import { absolute } from './paths.js';

/** What this machine, this directory and this store can do (`turnback doctor`). */
export async function probe(directory: string, storePath: string): Promise<readonly NativeFinding[]> {
  return unwrap(await addon().probe(absolute('DIR', directory), absolute('storePath', storePath)));
}

/** How `copy_on_write` sandboxes of a directory can be made, the best way first; the first one that works is used (S5). */
export async function sandboxMechanisms(directory: string, storePath: string): Promise<readonly NativeFinding[]> {
  return unwrap(await addon().sandboxMechanisms(absolute('DIR', directory), absolute('storePath', storePath)));
}
