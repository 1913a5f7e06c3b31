// npm start [-- DIR]: see demo/lib/demo.mjs. Everything is written below one temporary folder, which is removed at the end.
import { existsSync, mkdtempSync, realpathSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { buildFolders } from './lib/input.mjs';
import { discard } from './lib/peers.mjs';
import { endAll } from './lib/shell.mjs';

const USAGE = `usage: npm start [-- DIR]

Takes a checkpoint of a copy of DIR, lets a scripted agent edit, create, rename and destroy in it, rolls back, and proves
by an independent comparison that every path is as before. Then once more with the directory itself destroyed.
DIR itself is only read. Without DIR it takes this repository with node_modules and .git, without target.

  --check     only looks whether DIR can be used
  --keep      leaves the temporary folder behind, to look around
  -h, --help  this text

The copies lie in $TMPDIR (or /tmp). Exit codes: 0 everything came back, 1 it did not, 2 wrong usage.`;

/** @param {string[]} args */
function parse(args) {
  const unknown = args.find((arg) => arg.startsWith('-') && arg !== '--keep' && arg !== '--check');
  if (unknown) return `there is no option ${unknown}`;
  const directories = args.filter((arg) => !arg.startsWith('-'));
  if (directories.length > 1) return `only one DIR can be given, not ${directories.length}`;
  const directory = directories[0];
  if (directory !== undefined) {
    if (!existsSync(directory)) return `there is no directory ${directory}`;
    if (!statSync(directory).isDirectory()) return `${directory} is not a directory`;
  }
  return { directory, keep: args.includes('--keep') };
}

async function main() {
  const args = process.argv.slice(2);
  if (args.includes('-h') || args.includes('--help')) {
    console.log(USAGE);
    return 0;
  }
  const options = parse(args);
  if (typeof options === 'string') {
    console.error(`demo: ${options} (-h shows the usage)`);
    return 2;
  }
  const repository = realpathSync(join(import.meta.dirname, '..'));
  const source = options.directory === undefined ? repository : realpathSync(options.directory);
  const temporary = realpathSync(tmpdir());
  if (!relative(source, temporary).startsWith('..')) {
    console.error(
      `demo: ${source} contains the temporary folder ${temporary}, so it cannot be copied there; set TMPDIR to a folder elsewhere`,
    );
    return 2;
  }
  if (args.includes('--check')) return 0;
  const home = mkdtempSync(join(temporary, 'turnback-demo-'));
  let leaving = false;
  /** @type {Promise<boolean> | undefined} */
  let demo;
  /** @param {number} code */
  const interrupted = async (code) => {
    if (leaving) return;
    leaving = true;
    console.error(`\ndemo: interrupted; removing ${home}`);
    await endAll();
    // Its engine may still be writing, until it is closed.
    await Promise.allSettled([demo]);
    await discard(home);
    process.exit(code);
  };
  process.on('SIGINT', () => interrupted(130));
  process.on('SIGTERM', () => interrupted(143));
  process.on('SIGHUP', () => interrupted(129));
  try {
    const { turnback } = await import('./lib/engine.mjs');
    const { runDemo } = await import('./lib/demo.mjs');
    demo = runDemo({
      source,
      about: options.directory === undefined ? 'this repository with node_modules and .git, without target' : source,
      leaveOut: options.directory === undefined ? buildFolders(repository) : [],
      home,
      open: turnback,
    });
    return (await demo) ? 0 : 1;
  } catch (error) {
    if (leaving) return 130;
    const code = error instanceof Error && 'code' in error ? `${error.code}: ` : '';
    console.error(`\ndemo: failed: ${code}${error instanceof Error ? error.message : error}`);
    return 1;
  } finally {
    if (!leaving) {
      if (options.keep) console.log(`\nleft behind: ${home}`);
      else {
        await discard(home);
        if (existsSync(home)) console.error(`demo: ${home} could not be removed`);
      }
    }
  }
}

process.exitCode = await main();
