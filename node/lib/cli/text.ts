/** Text for people: whatever a name holds, it stays on its line and cannot move the cursor. */
import { isUtf8 } from 'node:buffer';

/** Characters that change how their neighbours are shown: zero-width, line separators, bidirectional controls. */
const INVISIBLE = /[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/u;
const SHORT: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Code is full of these two, and they do no harm. */
const IN_LINES: Record<string, string> = { ...SHORT, '\\': '\\', '\t': '\t' };

/** Escapes as the engine escapes paths: `\n`, `\xNN`, `\u{N}`, and a doubled backslash, so that no two names look alike. */
export function printable(text: string): string {
  return escaped(text, SHORT);
}

/** A line of a file: what could move the cursor or hide text is escaped, tabs and backslashes stay. Bytes that are no UTF-8 are `\xNN`. */
export function printableLine(bytes: Buffer): string {
  if (isUtf8(bytes)) return escaped(bytes.toString(), IN_LINES);
  let out = '';
  for (const byte of bytes) {
    out += byte < 0x80 ? escaped(String.fromCharCode(byte), IN_LINES) : `\\x${byte.toString(16)}`;
  }
  return out;
}

function escaped(text: string, shorts: Record<string, string>): string {
  let out = '';
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    const short = shorts[character];
    if (short !== undefined) out += short;
    else if (code < 0x20 || code === 0x7f) out += `\\x${code.toString(16).padStart(2, '0')}`;
    else if (/[\p{Cc}\p{Surrogate}]/u.test(character) || INVISIBLE.test(character)) out += `\\u{${code.toString(16)}}`;
    else out += character;
  }
  return out;
}

/** Escapes a message, which may name paths that are escaped already: backslashes stay single. */
export function printableMessage(text: string): string {
  return printable(text).replaceAll('\\\\', '\\');
}

/** A path: one with bytes of its own was escaped by the engine. The workspace itself is `.`. */
export function printablePath(of: { path: string; pathBytes?: Uint8Array }): string {
  if (of.path === '') return '.';
  return of.pathBytes === undefined ? printable(of.path) : of.path;
}

const UNITS = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** For example `512 B`, `3.4 MiB`. */
export function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes / 1024;
  let unit = 0;
  while (value >= 1023.95 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value.toFixed(1)} ${UNITS[unit]}`;
}

/** Words as they are typed in a shell, each with a blank before it. */
export function typed(words: string[]): string {
  return words.map((word) => ` ${quoted(word)}`).join('');
}

/** What cannot be printed is an escape, which bash and zsh read between `$'` and `'`. */
function quoted(word: string): string {
  if (/^[\w./:=@%+-]+$/.test(word)) return word;
  if (escaped(word, {}) === word) return `'${word.replaceAll("'", "'\\''")}'`;
  const wide = (_: string, hex: string) =>
    hex.length > 4 ? `\\U${hex.padStart(8, '0')}` : `\\u${hex.padStart(4, '0')}`;
  return `$'${printable(word)
    .replaceAll("'", "\\'")
    .replaceAll(/(?<=(?:^|[^\\])(?:\\\\)*)\\u\{([0-9a-f]+)\}/g, wide)}'`;
}

/** A command of ours as it is typed, in the same store. */
export type Typed = (...words: string[]) => string;

/** Commands in the store that the command line named; `undefined` when it is the default one. */
export function typedIn(store: string | undefined): Typed {
  return (...words) => `turnback${typed([...words, ...(store === undefined ? [] : ['--store', store])])}`;
}

/** Prose of the library, whose commands know of no store: those between backticks get the one that the command line named. */
export function proseIn(store: string | undefined, text: string): string {
  if (store === undefined) return text;
  return text.replaceAll(
    /`(turnback (?:(?!--help)[^`])+)`/g,
    (_, command: string) => `\`${command}${typed(['--store', store])}\``,
  );
}

/** How much of a whole it is, in percent: `0.3%`, `42%`. */
export function share(part: number, whole: number): string {
  const percent = whole > 0 ? (100 * part) / whole : 100;
  return `${percent < 10 ? Math.ceil(percent * 10) / 10 : Math.ceil(percent)}%`;
}

/** For example `1 file`, `12,345 files`. */
export function count(many: number, one: string, more = `${one}s`): string {
  return `${many.toLocaleString('en-US')} ${many === 1 ? one : more}`;
}

/** Local time to the second, with the offset left out: `2026-11-30 14:05:09`. */
export function when(at: Date): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** For example `0.8 s`, `412 ms`. */
export function duration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

/** Rows under their heads, columns two blanks apart. Columns named in `right` are set to the right. */
export function table(heads: string[], rows: string[][], right: string[] = []): string[] {
  const widths = heads.map((head, at) => Math.max(head.length, ...rows.map((row) => (row[at] ?? '').length)));
  const line = (row: string[]) =>
    heads
      .map((head, at) => {
        const cell = row[at] ?? '';
        const width = widths[at] ?? 0;
        return right.includes(head) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd();
  return [line(heads), ...rows.map(line)];
}
