/** Checks of single values: each returns the value with its type, or throws `INVALID_ARGUMENT` with one short sentence. */
import { invalidArgument } from './errors.js';
import { LEVELS, type Logger } from './log.js';

/** Half of a surrogate pair: UTF-8 cannot hold it, and two different ones would become the same. */
const LONE_SURROGATE = /\p{Surrogate}/u;
const CONTROL = /\p{Cc}/u;

/** The longest delay that a timer takes, in milliseconds (24 days). */
const MAX_TIMER_MS = 2 ** 31 - 1;

function kind(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Promise) return 'a promise';
  return Array.isArray(value) ? 'an array' : value === undefined ? 'missing' : `a value of type ${typeof value}`;
}

/** Checks one value; `name` is what the caller calls it. */
export type Check<T> = (name: string, value: unknown) => T;

/** Text of any kind. */
export const anyText: Check<string> = (name, value) => {
  if (typeof value === 'string') return value;
  throw invalidArgument(name, `${name} is ${kind(value)}: pass a string`);
};

/** Well-formed text. */
export const text: Check<string> = (name, value) => {
  const given = anyText(name, value);
  if (isWellFormed(given)) return given;
  throw invalidArgument(name, `${name} holds half of a surrogate pair: pass well-formed text`);
};

/** Whether UTF-8 can hold a text. */
export const isWellFormed = (given: string): boolean => !LONE_SURROGATE.test(given);

/** How long the id of a sandbox, turn or plan may be, in bytes of UTF-8 (G2). */
export const MOST_ID_BYTES = 200;

export const flag: Check<boolean> = (name, value) => {
  if (typeof value === 'boolean') return value;
  throw invalidArgument(name, `${name} is ${kind(value)}: pass true or false`);
};

/** A whole number from `least` to `most`. */
export function whole(least: number, most = Number.MAX_SAFE_INTEGER): Check<number> {
  return (name, value) => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
    throw invalidArgument(name, `${name} is not a whole number from ${least} to ${most}`);
  };
}

export const deadline = whole(1, MAX_TIMER_MS);

/** One of some names. */
export function oneOf<const T extends string>(...names: T[]): Check<T> {
  return (name, value) => {
    const found = names.find((known) => known === value);
    if (found !== undefined) return found;
    throw invalidArgument(name, `${name} is none of ${names.join(', ')}`);
  };
}

/** Well-formed text of at least one and at most `bytes` bytes of UTF-8 without control characters. */
export function shortText(bytes: number): Check<string> {
  return (name, value) => {
    const given = text(name, value);
    // Not by Node's `Buffer`: adapters run elsewhere too.
    const { length } = new TextEncoder().encode(given);
    if (length === 0 || length > bytes) {
      throw invalidArgument(name, `${name} has ${length} bytes: it takes 1 to ${bytes}`);
    }
    if (CONTROL.test(given)) throw invalidArgument(name, `${name} holds control characters: remove them`);
    return given;
  };
}

/** A list of at most `most` values. */
export function listOf<T>(one: Check<T>, most: number): Check<T[]> {
  return (name, value) => {
    if (!Array.isArray(value)) throw invalidArgument(name, `${name} is ${kind(value)}: pass an array`);
    if (value.length > most)
      throw invalidArgument(name, `${name} has ${value.length} entries: it takes at most ${most}`);
    return Array.from(value, (entry: unknown, at) => one(`${name}[${at}]`, entry));
  };
}

/** A function. */
export function callback<F extends (...args: never[]) => unknown>(): Check<F> {
  return (name, value) => {
    if (typeof value === 'function') return value as F;
    throw invalidArgument(name, `${name} is ${kind(value)}: pass a function`);
  };
}

/** An abort signal, of this realm or another. */
export const signal: Check<AbortSignal> = (name, value) => {
  if (isSignal(value)) return value;
  throw invalidArgument(name, `${name} is ${kind(value)}: pass an AbortSignal`);
};

/** Whether it is an abort signal, of this realm or another. */
export function isSignal(value: unknown): value is AbortSignal {
  return typeof value === 'object' && value !== null && 'aborted' in value && hears(value);
}

/** What cannot be unsubscribed from would break a call that is over. */
function hears(value: object): boolean {
  const { addEventListener, removeEventListener } = value as Record<string, unknown>;
  return typeof addEventListener === 'function' && typeof removeEventListener === 'function';
}

/** A logger with all four methods. */
export const logger: Check<Logger> = (name, value) => {
  if (typeof value === 'object' && value !== null) {
    const methods = value as Record<string, unknown>;
    if (LEVELS.every((level) => typeof methods[level] === 'function')) return value as Logger;
  }
  throw invalidArgument(name, `${name} is no logger: pass an object with the methods ${LEVELS.join(', ')}`);
};

/** An object that is no array. */
export const record: Check<Record<string, unknown>> = (name, value) => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw invalidArgument(name, `${name} is ${kind(value)}: pass an object`);
};

/** What a set of options may hold. */
export type Spec = Record<string, Check<unknown>>;
/** The options that a spec describes, all of them optional. */
export type Options<S extends Spec> = { [K in keyof S]?: ReturnType<S[K]> };

/** Options, every one of them checked. An unknown name is refused: a misspelt option would silently do nothing. */
export function options<S extends Spec>(name: string, spec: S, value: unknown): Options<S> {
  const checked: Record<string, unknown> = {};
  if (value !== undefined) {
    for (const [key, given] of Object.entries(record(name, value))) {
      const check = Object.hasOwn(spec, key) ? spec[key] : undefined;
      if (check === undefined) {
        const shown = JSON.stringify(key.length > 40 ? `${key.slice(0, 40)}…` : key);
        throw invalidArgument(name, `${name} has no ${shown}: it takes ${Object.keys(spec).join(', ')}`);
      }
      if (given !== undefined) checked[key] = check(`${name}.${key}`, given);
    }
  }
  return checked as Options<S>;
}
