// Compiles the C programs of this folder, and takes pictures with them.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { cCompiler } from '../../scripts/lib/tools.mjs';
import { parseStream } from './parse.mjs';

/** @typedef {{ picture: string, xattr: string }} Programs the paths of the two programs */

/** @param {string} into an existing folder for the programs @returns {Programs} */
export function compile(into) {
  const compiler = cCompiler();
  /** @param {string} name @param {string[]} sources */
  const build = (name, sources) => {
    const program = join(into, name);
    const unfinished = `${program}.${process.pid}`;
    mkdirSync(into, { recursive: true });
    const files = sources.map((source) => join(import.meta.dirname, source));
    const done = spawnSync(compiler, ['-O2', '-Wall', '-Wextra', '-o', unfinished, ...files], { encoding: 'utf8' });
    if (done.status !== 0) throw new Error(`${compiler} cannot compile ${name}: ${done.stderr || done.error?.message}`);
    renameSync(unfinished, program);
    return program;
  };
  return { picture: build('picture', ['picture.c', 'sha256.c']), xattr: build('xattr', ['xattr.c']) };
}

/**
 * @param {Programs} programs
 * @param {string} directory
 * @returns {Promise<import('./parse.mjs').Picture>}
 */
export async function take(programs, directory) {
  const child = spawn(programs.picture, [directory], { stdio: ['ignore', 'pipe', 'pipe'] });
  let complaint = '';
  child.stderr.setEncoding('utf8').on('data', (chunk) => {
    complaint += chunk;
  });
  const ended = new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  const [parsed, code] = await Promise.allSettled([parseStream(child.stdout), ended]);
  if (code.status === 'rejected') throw code.reason;
  if (code.value !== 0) throw new Error(complaint.trim() || `picture ended with code ${code.value}`);
  if (parsed.status === 'rejected') throw parsed.reason;
  return parsed.value;
}
