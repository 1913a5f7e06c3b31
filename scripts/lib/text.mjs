// Plain text for people: durations, sizes, tables, and colour where a terminal shows it.

const colourful = () => Boolean(process.stdout.isTTY) && !process.env.NO_COLOR && process.env.TERM !== 'dumb';

/** @param {number} code @returns {(text: string) => string} */
const paint = (code) => (text) => (colourful() ? `\u001b[${code}m${text}\u001b[0m` : text);

export const bold = paint(1);
export const dim = paint(2);
export const red = paint(31);
export const green = paint(32);
export const yellow = paint(33);

const SGR = new RegExp(`${String.fromCharCode(27)}\\[[0-9;]*m`, 'g');

/** The number of columns that the text takes. @param {string} text */
export const width = (text) => text.replace(SGR, '').length;

/** The text, or as much of it as fits. @param {string} text @param {number} columns */
export const clip = (text, columns) => (text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`);

/** 4 ms, 0.35 s, 12.3 s, 3 min 05 s. @param {number} ms */
export function duration(ms) {
  if (ms < 100) return `${ms < 10 ? ms.toFixed(1) : ms.toFixed(0)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, '0')} s`;
}

/** 512 B, 3.4 kB, 120 MB. @param {number} bytes */
export function size(bytes) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 || value >= 99.5 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}

/** 12,345. @param {number} n */
export const count = (n) => n.toLocaleString('en-US');

/** One noun or its plural, with the number. @param {number} n @param {string} one @param {string} [many] */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

/**
 * Rows of cells in aligned columns. The first row is the head.
 * @param {string[][]} rows
 * @param {{ right?: number[], indent?: string }} [options] right: columns that are aligned to the right
 */
export function table(rows, { right = [], indent = '  ' } = {}) {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => width(row[column] ?? ''))));
  /** @param {string[]} row */
  const line = (row) =>
    row
      .map((cell, column) => {
        const gap = ' '.repeat((widths[column] ?? 0) - width(cell));
        return right.includes(column) ? gap + cell : cell + gap;
      })
      .join('  ')
      .trimEnd();
  return rows
    .flatMap((row, index) => (index === 0 ? [line(row), widths.map((w) => '─'.repeat(w)).join('  ')] : [line(row)]))
    .map((text) => indent + text)
    .join('\n');
}
