/** What hosts call their turns, as the id of a turn. */
import { node } from '../builtin.js';
import { isWellFormed, MOST_ID_BYTES } from '../check.js';

/** What stands for a turn, as an id of one: of what cannot be one, because it is too long, say, the SHA-256. */
export function turnIn(value: unknown): string | undefined {
  const text = textIn(value);
  if (text === undefined) return undefined;
  if (isWellFormed(text) && new TextEncoder().encode(text).length <= MOST_ID_BYTES) return text;
  return `sha256-${node.crypto.createHash('sha256').update(text, 'utf16le').digest('hex')}`;
}

/** A text that is not empty, or nothing. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
