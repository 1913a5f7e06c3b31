// Part of npm test: sees that there is a Chromium for the tests of the simulator's page. Where there is none, and this runs as root on a
// system with apt-get, Debian's package is installed; otherwise those tests are skipped, which is said here and there.
import { spawnSync } from 'node:child_process';
import { chromium, NO_CHROMIUM, program } from './lib/chromium.mjs';

/** What takes longer has no network to speak of. */
const LIMIT_MS = 240_000;

/** @param {string[]} args @returns {boolean} whether it ended well */
function aptGet(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const { status, error } = spawnSync('apt-get', ['-q', '-y', ...args], { env, stdio: 'inherit', timeout: LIMIT_MS });
  if (error !== undefined) console.log(`apt-get ${args.join(' ')}: ${error.message}`);
  return status === 0;
}

const install = () => aptGet('install', '--no-install-recommends', 'chromium', 'fonts-liberation');

/** Why nothing is installed; `undefined`: it can be. */
function hindrance() {
  const named = process.env.TURNBACK_CHROMIUM;
  if (named) return `TURNBACK_CHROMIUM is ${named}, which is no program`;
  if (process.platform !== 'linux' || program('apt-get') === undefined) return 'there is no apt-get here';
  if (process.getuid?.() !== 0) return 'only root can install it';
  return undefined;
}

if (chromium() === undefined) {
  const why = hindrance();
  if (why !== undefined) console.log(`not installed: ${why}`);
  else {
    console.log("installing Debian's package chromium: about 115 MB to download, 360 MB on disk, and what it needs");
    // Lists that are there are tried first: fetching them anew takes longest.
    if (!install() && aptGet('update')) install();
  }
}
const found = chromium();
console.log(found === undefined ? `skipped: ${NO_CHROMIUM}` : `Chromium is ${found}`);
