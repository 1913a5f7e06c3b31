// The packages as they are released: `turnback-policy`, `turnback` without a binary, and one package for each platform's binary, which
// `turnback` names as optional dependencies. Nothing of that stands in the repository: `npm ci` fails on packages that are not published.
import { spawnSync } from 'node:child_process';
import { closeSync, cpSync, mkdirSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { npm, Trouble } from './tools.mjs';

/** @typedef {{ os: string, cpu: string, libc: string, machine: number }} Platform */
/** @typedef {{ name: string, file: string, bytes: number, unpackedBytes: number }} Packed */

/** The platforms there are binaries for, by the end of the package's name; `machine` is ELF's number of the architecture. */
const PLATFORMS = new Map([
  ['linux-x64-gnu', { os: 'linux', cpu: 'x64', libc: 'glibc', machine: 0x3e }],
  ['linux-x64-musl', { os: 'linux', cpu: 'x64', libc: 'musl', machine: 0x3e }],
  ['linux-arm64-gnu', { os: 'linux', cpu: 'arm64', libc: 'glibc', machine: 0xb7 }],
  ['linux-arm64-musl', { os: 'linux', cpu: 'arm64', libc: 'musl', machine: 0xb7 }],
]);

/** The platform that this runs on. */
export function ownPlatform() {
  const { header } = /** @type {{ header: { glibcVersionRuntime?: string } }} */ (process.report.getReport());
  return `${process.platform}-${process.arch}-${header.glibcVersionRuntime === undefined ? 'musl' : 'gnu'}`;
}

/** @param {string} file @returns {any} */
const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** @param {string} directory @param {object} manifest */
const writeManifest = (directory, manifest) =>
  writeFileSync(join(directory, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);

/** Refuses a binary of another platform: it would be found out on the user's machine only. @param {string} name @param {string} file */
function platformOf(name, file) {
  const platform = PLATFORMS.get(name);
  if (platform === undefined)
    throw new Trouble(`${name} is no platform: it is one of ${[...PLATFORMS.keys()].join(', ')}.`);
  const header = Buffer.alloc(20);
  const descriptor = openSync(file, 'r');
  readSync(descriptor, header, 0, header.length, 0);
  closeSync(descriptor);
  if (header.readUInt32BE(0) !== 0x7f454c46 || header.readUInt16LE(18) !== platform.machine) {
    throw new Trouble(`${file} is no ELF binary for ${platform.cpu}, and cannot be the one of ${name}.`);
  }
  return platform;
}

/**
 * Copies the README and what a package's `files` name.
 * @param {string} from @param {string} to @param {string[]} files
 */
function copyParts(from, to, files) {
  mkdirSync(to, { recursive: true });
  for (const name of ['README.md', ...files.filter((pattern) => !pattern.startsWith('!'))]) {
    cpSync(join(from, name), join(to, name), { recursive: true });
  }
}

/**
 * Lays the packages out as directories.
 *
 * @param {string} root the repository, with both packages built
 * @param {string} into a directory, which is emptied
 * @param {ReadonlyMap<string, string>} binaries the addon's file for each platform
 * @returns {string[]} the directories
 */
export function layOut(root, into, binaries) {
  rmSync(into, { recursive: true, force: true });
  const node = readJson(join(root, 'node', 'package.json'));
  const policy = readJson(join(root, 'wasm', 'package.json'));
  const { version, license, engines } = node;
  const optionalDependencies = Object.fromEntries([...binaries.keys()].map((name) => [`turnback-${name}`, version]));

  for (const [name, file] of binaries) {
    const { os, cpu, libc } = platformOf(name, file);
    const directory = join(into, `turnback-${name}`);
    const texts = ['LICENSE-APACHE', 'LICENSE-MIT', 'THIRD-PARTY-NOTICES.txt'];
    copyParts(join(root, 'node'), directory, texts);
    cpSync(file, join(directory, 'turnback.node'));
    writeFileSync(
      join(directory, 'README.md'),
      `# turnback-${name}\n\nThe native half of [turnback](https://www.npmjs.com/package/turnback) for ${os} ${cpu} with ${libc}. Install \`turnback\`, which brings this.\n`,
    );
    const description = `The native half of turnback for ${os} ${cpu} with ${libc}`;
    const files = ['turnback.node', ...texts];
    const limits = { os: [os], cpu: [cpu], libc: [libc] };
    writeManifest(directory, {
      name: `turnback-${name}`,
      version,
      description,
      license,
      type: 'commonjs',
      engines,
      ...limits,
      main: 'turnback.node',
      files,
    });
  }
  for (const [directory, manifest, more] of /** @type {const} */ ([
    ['wasm', policy, {}],
    ['node', node, { optionalDependencies }],
  ])) {
    const { scripts: _scripts, devDependencies: _dev, ...rest } = manifest;
    const files = manifest.files.filter((/** @type {string} */ name) => name !== 'turnback.node');
    copyParts(join(root, directory), join(into, manifest.name), files);
    writeManifest(join(into, manifest.name), { ...rest, ...more, files });
  }
  return [...binaries.keys()]
    .map((name) => `turnback-${name}`)
    .concat(policy.name, node.name)
    .map((name) => join(into, name));
}

/**
 * `npm pack` of a directory.
 * @param {string} directory @param {string} into
 * @returns {Packed}
 */
export function pack(directory, into) {
  mkdirSync(into, { recursive: true });
  const [program, args] = npm();
  const ran = spawnSync(program, [...args, 'pack', '--json', '--ignore-scripts', '--pack-destination', into], {
    cwd: directory,
    encoding: 'utf8',
  });
  if (ran.status !== 0) throw new Trouble(`npm pack failed in ${directory}: ${ran.stderr}`);
  const answer = JSON.parse(ran.stdout);
  // npm 12 answers by name, older ones in a list.
  const [{ name, filename, size, unpackedSize }] = Array.isArray(answer) ? answer : Object.values(answer);
  return { name, file: join(into, filename), bytes: size, unpackedBytes: unpackedSize };
}
