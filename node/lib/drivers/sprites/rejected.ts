/** Failures of the Sprites service, as errors of this package. */
import { type ErrorCode, isTurnbackError, TurnbackError } from '../../errors.js';

/** One line of at most 200 characters of what a service said. */
export function excerpt(text: string): string {
  const line = text.replace(/[\s\p{Cc}]+/gu, ' ').trim();
  return line.length > 200 ? `${line.slice(0, 199)}…` : line;
}

/** The HTTP status in an error of `@fly/sprites`: a field of its `APIError`, elsewhere only a part of the message. */
function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  const { statusCode, message } = error as { statusCode?: unknown; message?: unknown };
  if (typeof statusCode === 'number') return statusCode;
  const found = typeof message === 'string' ? /\(status (\d{3})\)/.exec(message)?.[1] : undefined;
  return found === undefined ? undefined : Number(found);
}

/** What a status means: its code, whether to try again, and what to do. */
function meaning(status: number | undefined): { code: ErrorCode; retryable: boolean; advice: string } {
  switch (status) {
    case 401:
    case 403:
      return { code: 'PERMISSION_DENIED', retryable: false, advice: "check the client's token" };
    case 404:
      return { code: 'NOT_FOUND', retryable: false, advice: 'check that the Sprite exists' };
    case 429:
      return { code: 'IO', retryable: true, advice: 'Sprites wants fewer requests: try again later' };
    default: {
      // Without a status it is the network.
      const retryable = status === undefined || status === 408 || status >= 500;
      return { code: 'IO', retryable, advice: retryable ? 'try again' : 'read what Sprites answered' };
    }
  }
}

/** A request that was rejected: what was tried, and what came back. An error of this package stays as it is. */
export function rejected(what: string, error: unknown, details: Record<string, unknown>): TurnbackError {
  if (isTurnbackError(error)) return error;
  const status = statusOf(error);
  const { code, retryable, advice } = meaning(status);
  const said = excerpt(error instanceof Error ? error.message : String(error));
  return new TurnbackError(code, `${what} failed: ${said}; ${advice}`, {
    retryable,
    details: { ...details, ...(status === undefined ? {} : { status }), advice },
    cause: error,
  });
}
