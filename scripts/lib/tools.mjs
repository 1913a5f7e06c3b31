// What has to be installed before anything can be built, and one sentence for each thing that is not.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Something is wrong that the reader can mend; the message is all there is to say. */
export class Trouble extends Error {}

/** @param {string} program @param {string[]} args @returns {string | undefined} what it printed, if it runs */
function ask(program, ...args) {
  const answer = spawnSync(program, args, { encoding: 'utf8' });
  return answer.status === 0 ? answer.stdout.trim() : undefined;
}

/** @param {string} text @returns {[number, number]} */
function version(text) {
  const found = text.match(/(\d+)\.(\d+)/);
  return [Number(found?.[1] ?? 0), Number(found?.[2] ?? 0)];
}

/** @param {[number, number]} have @param {[number, number]} want */
const older = (have, want) => have[0] < want[0] || (have[0] === want[0] && have[1] < want[1]);

/** Vite and Vitest need this; the same range stands in package.json. */
export function checkNode() {
  const have = version(process.versions.node);
  if (older(have, [20, 19]) || have[0] === 21 || (have[0] === 22 && older(have, [22, 12]))) {
    throw new Trouble(
      `Node ${process.versions.node} is too old: install Node 20 (20.19 or newer) or Node 22.12 or newer, and run this again.`,
    );
  }
}

/** Edition 2024 and the crates we use need this; the same number stands in Cargo.toml. */
export function checkRust() {
  const cargo = ask('cargo', '--version');
  if (cargo === undefined) {
    const installed = existsSync(join(process.env.CARGO_HOME ?? join(homedir(), '.cargo'), 'bin', 'cargo'));
    throw new Trouble(
      installed
        ? 'cargo is installed but not on the PATH: add the bin folder of ~/.cargo to it (. ~/.cargo/env), and run this again.'
        : 'cargo was not found: install Rust 1.88 or newer from https://rustup.rs, and run this again.',
    );
  }
  if (older(version(cargo), [1, 88])) {
    throw new Trouble(`${cargo} is too old: update Rust to 1.88 or newer (rustup update), and run this again.`);
  }
}

/** @returns {string} the C compiler to call */
export function cCompiler() {
  const candidates = [process.env.CC, 'cc', 'gcc', 'clang'].filter((name) => name !== undefined && name !== '');
  const found = candidates.find((name) => ask(String(name), '--version') !== undefined);
  if (found === undefined) {
    throw new Trouble(
      `no C compiler was found (tried ${candidates.join(', ')}): install gcc or clang, or set CC, and run this again.`,
    );
  }
  return found;
}

/** @param {string} subcommand */
export const hasCargo = (subcommand) => ask('cargo', subcommand, '--version') !== undefined;

/** What of the tools the results of a build depend on. */
export const toolchain = () => `${ask('rustc', '-Vv') ?? ''}\n${process.version} ${process.platform} ${process.arch}`;

/** The command that runs npm: the very npm that runs us, if there is one. @returns {[string, string[]]} */
export function npm() {
  const script = process.env.npm_execpath;
  if (script && /npm-cli\.c?js$/.test(script)) return [process.execPath, [script]];
  return ['npm', []];
}
