// What is tested: an agent's tool that removes what a build made.
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** @param {string} root @returns {string[]} what was removed */
export function tidy(root) {
  const made = readdirSync(root).filter((name) => name.endsWith('.o') || name === 'out');
  for (const name of made) rmSync(join(root, name), { recursive: true });
  return made;
}
