// Reads the tables that all builds share; ../vectors/README.md has the format.
import { readFileSync } from 'node:fs';

/** A text: written out, or repeated. */
export type Text = string | { before?: string; repeat: string; times: number; after?: string };

export interface Refused {
  code: string;
  message: string;
}

export function textOf(text: Text): string {
  if (typeof text === 'string') return text;
  return `${text.before ?? ''}${text.repeat.repeat(text.times)}${text.after ?? ''}`;
}

export function vectors<T>(name: string): T {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}`, import.meta.url), 'utf8'));
}

/** What `call` throws. */
export function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
