// Takes each sync, flag and lock away in turn, in a copy of the repository, and runs the test that has to fail then.
//
//   node scripts/prove.mjs [--only TEXT] [--check] [--markdown FILE] [--dir DIR]
//
// --only       those whose line contains TEXT
// --check      only looks whether each text is still where it is expected; builds nothing
// --markdown   also writes the table, with what was seen, to FILE
// --dir        the copy, which is made there and left there; by default a temporary one that goes
//
// Each one takes a build of the engine. The exit code is 1 when a test passed although what it shows was taken away.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MUTATIONS } from './prove/mutations.mjs';

/** @typedef {import('./prove/mutations.mjs').Mutation} Mutation */

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** A test that waits for ever has failed; with a build before it. */
const LIMIT_MS = 20 * 60_000;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    check: { type: 'boolean', default: false },
    markdown: { type: 'string' },
    dir: { type: 'string' },
  },
});

/** @param {string} text @param {string} take @param {string} give @param {number} [nth] @returns {string} */
function replaced(text, take, give, nth) {
  const parts = text.split(take);
  const at = nth ?? 1;
  if (parts.length <= at || (nth === undefined && parts.length !== 2)) {
    throw new Error(`it stands there ${parts.length - 1} times: ${take}`);
  }
  return parts.slice(0, at).join(take) + give + parts.slice(at).join(take);
}

/** @param {Mutation} one @param {string} root @returns {Map<string, string>} the files as they are with it */
function mutated(one, root) {
  /** @type {Map<string, string>} */
  const files = new Map();
  const read = (/** @type {string} */ file) => files.get(file) ?? readFileSync(join(root, file), 'utf8');
  files.set(one.file, replaced(read(one.file), one.take, one.give, one.nth));
  for (const [file, take, give] of one.and ?? []) {
    const path = `engine/src/${file}`;
    files.set(path, replaced(read(path), take, give ?? ''));
  }
  return files;
}

/** @param {string} root @param {string} test @returns {Promise<'failed' | 'passed' | 'does not build' | 'waited for ever' | 'did not run'>} */
async function ran(root, test) {
  const [file = '', name = ''] = test.split('::');
  const [binary = '', module] = file.replace(/\.rs$/, '').split('/');
  const args = ['nextest', 'run', '-p', 'turnback-engine', '--test', binary];
  args.push(module === undefined ? name : `${module}::${name}`);
  const child = spawn('cargo', args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, LIMIT_MS);
  const code = await new Promise((resolve) => child.on('close', resolve));
  clearTimeout(timer);
  if (late) return 'waited for ever';
  if (code === 0) return 'passed';
  if (code === 100) return said.includes('TERMINATING') || said.includes('TIMEOUT') ? 'waited for ever' : 'failed';
  if (process.env.PROVE_VERBOSE) process.stderr.write(said);
  return code === 101 ? 'does not build' : 'did not run';
}

function copied() {
  const root = options.dir ?? mkdtempSync(join(tmpdir(), 'turnback-prove-'));
  const listed = spawnSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8', maxBuffer: 1 << 26 });
  for (const file of listed.stdout.split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    // With a time of its own: nothing that was built from another copy passes for this one's.
    cpSync(join(ROOT, file), join(root, file));
  }
  // A test that waits for what cannot come is ended after a minute.
  mkdirSync(join(root, '.config'), { recursive: true });
  writeFileSync(
    join(root, '.config/nextest.toml'),
    '[profile.default]\nslow-timeout = { period = "30s", terminate-after = 2 }\n',
  );
  return root;
}

const chosen = MUTATIONS.map(({ title, all }) => ({
  title,
  all: all.filter((one) => options.only === undefined || `${title}: ${one.what} ${one.file}`.includes(options.only)),
}));
const moved = chosen
  .flatMap(({ all }) => all)
  .flatMap((one) => {
    try {
      mutated(one, ROOT);
      return [];
    } catch (cause) {
      return [`${one.what}: ${one.file}: ${cause instanceof Error ? cause.message : cause}`];
    }
  });
if (moved.length > 0) {
  console.error(moved.join('\n'));
  process.exit(1);
}
if (options.check) {
  console.log(`${chosen.flatMap(({ all }) => all).length} are where they are expected`);
  process.exit(0);
}

const root = copied();
/** @type {string[]} */
const table = [];
let missed = 0;
try {
  for (const { title, all } of chosen) {
    table.push(`## ${title}`, '', '| Taken away | In | Shown by | Without it |', '|---|---|---|---|');
    for (const one of all) {
      const files = mutated(one, root);
      /** @type {Map<string, string>} */
      const before = new Map();
      for (const file of files.keys()) before.set(file, readFileSync(join(root, file), 'utf8'));
      for (const [file, text] of files) writeFileSync(join(root, file), text);
      const outcome = await ran(root, one.test);
      for (const [file, text] of before) writeFileSync(join(root, file), text);
      const right = outcome === 'failed' || outcome === 'waited for ever';
      if (!right) missed += 1;
      console.log(`${right ? 'ok    ' : 'MISSED'} ${outcome}: ${title}: ${one.what} (${one.file}; ${one.test})`);
      table.push(`| ${one.what} | \`${one.file}\` | \`engine/tests/${one.test}\` | ${outcome} |`);
      if (options.markdown !== undefined) writeFileSync(options.markdown, `${table.join('\n')}\n`);
    }
    table.push('');
  }
} finally {
  if (options.dir === undefined) rmSync(root, { recursive: true });
}
if (options.markdown !== undefined) writeFileSync(options.markdown, table.join('\n'));
process.exitCode = missed === 0 ? 0 : 1;
