/** Sizes and lengths of time, as a person types them. */
import { deadline } from '../check.js';
import { UsageError } from './exit.js';

const TIMES: Record<string, number> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
};

const SIZES: Record<string, number> = { '': 1, k: 2 ** 10, m: 2 ** 20, g: 2 ** 30, t: 2 ** 40 };

/** A length of time in milliseconds: `90s`, `12h`, `7d`. A bare number is refused: nobody knows of what. */
export function milliseconds(option: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,12}(?:\.\d{1,3})?)(ms|s|m|h|d|w)$/.exec(text) ?? [];
  const value = Math.round(Number(number) * (TIMES[unit] ?? Number.NaN));
  if (number !== '' && Number.isSafeInteger(value)) return value;
  throw new UsageError(`${option} is no length of time`, 'give a number and a unit: 500ms, 90s, 30m, 12h, 7d or 2w');
}

/** A number of bytes: `1048576`, `500M`, `2G`, `1.5GiB`. The units are those that are printed: 1 K is 1024 bytes. */
export function bytes(option: string, text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,16}(?:\.\d{1,3})?)([kmgt]?)(?:i?b)?$/i.exec(text) ?? [];
  const value = Math.floor(Number(number) * (SIZES[unit.toLowerCase()] ?? Number.NaN));
  if (number !== '' && Number.isSafeInteger(value)) return value;
  throw new UsageError(`${option} is no size`, 'give a number of bytes, or one with K, M, G or T: 500M, 2G');
}

/** A count of at least 0. */
export function whole(option: string, text: string): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  throw new UsageError(`${option} is no whole number`, 'give 0 or more');
}

/** The value of `--deadline`. */
export function deadlineOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : deadline('--deadline', milliseconds('--deadline', text));
}
