// Where the Chromium is that the simulator's page is tested in.
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Why tests are skipped, in the words of scripts/allowed-skips.txt. */
export const NO_CHROMIUM =
  'there is no Chromium: install the package `chromium` of Debian, or set TURNBACK_CHROMIUM to the program of another build';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

/** @param {string} file */
function runs(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** @param {...string} names @returns {string | undefined} the first of these that is on the PATH */
export function program(...names) {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(runs);
}

/** @returns {string | undefined} its program: the one that TURNBACK_CHROMIUM names, else the first on the PATH */
export function chromium() {
  const named = process.env.TURNBACK_CHROMIUM;
  if (named) return runs(named) ? named : undefined;
  return program(...NAMES);
}
