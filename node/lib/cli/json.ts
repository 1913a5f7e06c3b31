import { isTurnbackError } from '../errors.js';
import { UsageError } from './exit.js';

/** JSON has no bytes: the bytes of a path that is not valid UTF-8 are in `pathBase64` instead of `pathBytes`. */
function withoutBytes(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('pathBytes' in value)) return value;
  const { pathBytes, ...rest } = value;
  return pathBytes instanceof Uint8Array ? { ...rest, pathBase64: Buffer.from(pathBytes).toString('base64') } : rest;
}

/** One JSON document. */
export function json(document: unknown): string {
  return JSON.stringify(document, withoutBytes, 2);
}

/** What `--json` prints of an error: `{ "error": { "code", "message", "retryable", "details" } }`. */
export function errorDocument(error: unknown): object {
  if (error instanceof UsageError) {
    const { message, hint } = error;
    return { error: { code: 'INVALID_ARGUMENT', message, retryable: false, details: { advice: hint } } };
  }
  if (isTurnbackError(error)) {
    const { code, message, retryable, details } = error;
    return { error: { code, message, retryable, details } };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { error: { code: 'IO', message, retryable: false, details: {} } };
}
