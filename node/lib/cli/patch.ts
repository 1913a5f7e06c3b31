/** What changed inside of files, line by line. */
import { constants } from 'node:fs';
import { type FileHandle, open, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { addon } from '../addon.js';
import { isTurnbackError } from '../errors.js';
import { unwrap } from '../failure.js';
import type { CheckpointManager } from '../manager.js';
import type { Change } from '../types.js';
import type { Paint } from './paint.js';
import { count, printableLine, printablePath, size } from './text.js';

/** Longer texts are not compared, in bytes. */
const LONGEST = 1 << 20;

/** As much of a line is shown, in bytes: what is longer nobody wrote by hand. */
const WIDEST = 2000;

/** As many files are compared: more than anybody reads. */
const MOST = 500;

const LINE_END = 0x0a;
const [HUNK, ADDED, REMOVED] = [0x40, 0x2b, 0x2d];

/** The two sides of a comparison: a checkpoint, and a directory as it is now. */
export interface Sides {
  manager: CheckpointManager;
  checkpointId: string;
  directory: string | Uint8Array;
}

/** Why there are no lines to show. */
type NoText = { why: string };
type Side = Buffer | NoText | undefined;

/** The differences between the files of both sides, as a unified diff. What is no file, or the same, is left out. */
export async function patchLines(changes: readonly Change[], sides: Sides, paint: Paint): Promise<string[]> {
  const files = changes.filter(({ kind }) => kind !== 'metadata');
  const lines: string[] = [];
  for (const change of files.slice(0, MOST)) lines.push(...(await fileLines(change, sides, paint)));
  if (files.length > MOST) lines.push(`… and ${count(files.length - MOST, 'more path')}, which are not shown`);
  return lines;
}

async function fileLines(change: Change, sides: Sides, paint: Paint): Promise<string[]> {
  const { kind } = change;
  const tooLong =
    (change.bytes ?? 0) > LONGEST ? { why: `${size(change.bytes ?? 0)}: too long to be shown` } : undefined;
  const [before, after] = await Promise.all([
    kind === 'added' ? undefined : (tooLong ?? then(change, sides)),
    kind === 'deleted' ? undefined : (tooLong ?? now(change, sides)),
  ]);
  if (before === undefined && after === undefined) return [];
  const path = printablePath(change);
  const heads = [
    paint.head(`--- ${before === undefined ? '/dev/null' : `a/${path}`}`),
    paint.head(`+++ ${after === undefined ? '/dev/null' : `b/${path}`}`),
  ];
  for (const side of [before, after]) if (side !== undefined && 'why' in side) return [...heads, `  (${side.why})`];
  const hunks = await compared((before ?? Buffer.alloc(0)) as Buffer, (after ?? Buffer.alloc(0)) as Buffer);
  if (hunks === null) return [...heads, '  (not a text)'];
  return hunks.length === 0 ? [] : [...heads, ...hunkLines(hunks, paint)];
}

async function compared(before: Buffer, after: Buffer): Promise<Buffer | null> {
  const hunks = unwrap(await addon().textDiff(before, after));
  return hunks === null ? null : Buffer.from(hunks.buffer, hunks.byteOffset, hunks.byteLength);
}

function hunkLines(hunks: Buffer, paint: Paint): string[] {
  const lines: string[] = [];
  for (let from = 0; from < hunks.length; ) {
    const found = hunks.indexOf(LINE_END, from);
    const to = found === -1 ? hunks.length : found;
    const whole = hunks.subarray(from, to);
    const cut = whole.length - WIDEST;
    const text = printableLine(whole.subarray(0, WIDEST)) + (cut > 0 ? `… (${count(cut, 'more byte')})` : '');
    lines.push(painted(whole[0], text, paint));
    from = to + 1;
  }
  return lines;
}

function painted(sign: number | undefined, text: string, paint: Paint): string {
  if (sign === HUNK) return paint.hunk(text);
  if (sign === ADDED) return paint.added(text);
  return sign === REMOVED ? paint.removed(text) : text;
}

async function then({ path, pathBytes }: Change, { manager, checkpointId }: Sides): Promise<Side> {
  try {
    const content = await manager.readFile(checkpointId, pathBytes ?? path);
    return content.length > LONGEST ? { why: `${size(content.length)}: too long to be shown` } : content;
  } catch (error) {
    // A directory, a link, a pipe; or the root itself.
    if (isTurnbackError(error) && error.code === 'INVALID_ARGUMENT') return undefined;
    return { why: error instanceof Error ? error.message : String(error) };
  }
}

/** A file of a directory in which somebody may still work: no link is followed, and nothing is waited for. */
async function now({ path, pathBytes }: Change, { directory }: Sides): Promise<Side> {
  if (path === '') return undefined;
  const root = await realpath(Buffer.from(directory as string), { encoding: 'buffer' });
  const file = Buffer.concat([root, Buffer.from('/'), Buffer.from((pathBytes ?? path) as string)]);
  let opened: FileHandle | undefined;
  try {
    const parent = dirname(file.toString('latin1'));
    const found = await realpath(Buffer.from(parent, 'latin1'), { encoding: 'buffer' });
    if (found.toString('latin1') !== parent) return { why: 'it lies behind a link by now' };
    opened = await open(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const is = await opened.stat();
    if (!is.isFile()) return undefined;
    if (is.size > LONGEST) return { why: `${size(is.size)}: too long to be shown` };
    return await opened.readFile();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A link is no text; neither are a socket and a device without a driver.
    if (code === 'ELOOP' || code === 'EMLINK' || code === 'ENXIO') return undefined;
    return { why: `cannot be read: ${code ?? String(error)}` };
  } finally {
    await opened?.close();
  }
}
