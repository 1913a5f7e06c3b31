/** Figures and times as people read them. */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** A length of time: `250 ms`, `1.2 s`, `12 s`, `4 min 10 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return 'for ever';
  if (ms === 0) return '0 s';
  if (ms < SECOND) return `${Math.max(1, Math.round(ms))} ms`;
  if (ms < 9.95 * SECOND) return `${trim((ms / SECOND).toFixed(1))} s`;
  const seconds = Math.round(ms / SECOND);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return pair(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  const minutes = Math.round(ms / MINUTE);
  return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
}

/** A moment of a scenario: `0:30`, `1:02:03`, with fractions where it has any: `0:30.25`. */
export function clock(ms: number): string {
  const whole = Math.round(ms);
  const fraction = whole % SECOND;
  const seconds = Math.floor(whole / SECOND) % 60;
  const minutes = Math.floor(whole / MINUTE) % 60;
  const hours = Math.floor(whole / HOUR);
  const head = hours > 0 ? `${hours}:${two(minutes)}` : `${minutes}`;
  const tail = fraction === 0 ? '' : trim((fraction / SECOND).toFixed(3)).slice(1);
  return `${head}:${two(seconds)}${tail}`;
}

/** A moment as a sentence has it: to a tenth of a second. */
export const moment = (ms: number): string => clock(Math.round(ms / 100) * 100);

/** A number with its noun: `1 batch`, `2,000 batches`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${number(count)} ${count === 1 ? one : many}`;
}

/** A whole number with its thousands kept apart. */
export function number(value: number): string {
  return Math.round(value)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ',');
}

/** A size: `900 B`, `12 kB`, `3.1 MB`. */
export function bytes(size: number): string {
  if (size < 1000) return `${size} B`;
  if (size < 1e6) return `${Math.round(size / 1000)} kB`;
  return `${(size / 1e6).toFixed(1)} MB`;
}

const two = (value: number) => String(value).padStart(2, '0');
const trim = (text: string) => text.replace(/\.?0+$/, '');
const pair = (large: number, largeUnit: string, small: number, smallUnit: string) =>
  small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
