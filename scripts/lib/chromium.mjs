// Where the Chromium is that the simulator's page is tested in.
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Why tests are skipped, in the words of scripts/allowed-skips.txt. */
export const NO_CHROMIUM =
  'there is no Chromium: install the package `chromium` of Debian, or set TURNBACK_CHROMIUM to the program of another build';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome-stable', 'google-chrome'];

/** @param {string} file */
function runs(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** @returns {string | undefined} its program: the one that TURNBACK_CHROMIUM names, else the first on the PATH */
export function chromium() {
  const named = process.env.TURNBACK_CHROMIUM;
  if (named) return runs(named) ? named : undefined;
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  return NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(runs);
}
