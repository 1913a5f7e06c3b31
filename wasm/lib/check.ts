import { invalidArgument } from './error.js';

/** Half of a surrogate pair. */
const LONE_SURROGATE = /\p{Surrogate}/u;

function kind(value: unknown): string {
  if (value === null) return 'null';
  try {
    return Array.isArray(value) ? 'an array' : typeof value;
  } catch {
    // A proxy that was revoked does not even tell that.
    return 'a revoked proxy';
  }
}

/** `value`, if it is a string. */
export function aString(argument: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw invalidArgument(argument, `${argument} is ${kind(value)} where a string is needed: pass a string`);
}

/** `value`, if it is a boolean. */
export function aBoolean(argument: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw invalidArgument(argument, `${argument} is ${kind(value)} where a boolean is needed: pass true or false`);
}

/** `value`, if it is an object whose properties can be read. */
export function anObject<T extends object>(argument: string, value: T): T {
  if (typeof value === 'object' && value !== null) return value;
  throw invalidArgument(argument, `${argument} is ${kind(value)} where an object is needed: pass an object`);
}

/** `value`, if it is an array. */
export function aList<T>(argument: string, value: readonly T[]): readonly T[] {
  if (Array.isArray(value)) return value;
  throw invalidArgument(argument, `${argument} is ${kind(value)} where an array is needed: pass an array`);
}

/**
 * `value`, if it is a string that UTF-8 can hold. On the way into the module every half surrogate pair becomes U+FFFD,
 * so that two different ids would be one. The rest of the rule is checked inside.
 */
export function anId(argument: string, value: unknown): string {
  const text = aString(argument, value);
  if (!LONE_SURROGATE.test(text)) return text;
  throw invalidArgument(argument, `${argument} holds half of a surrogate pair: pass well-formed text`);
}
