/** Errors of the operating system, as ours. */
import { type ErrorCode, TurnbackError } from '../errors.js';

/** Errors that pass by themselves: too many processes or open files, or no memory. */
const PASSING = new Set(['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM', 'EINTR', 'EBUSY']);

const CODES: Readonly<Record<string, ErrorCode>> = {
  ENOENT: 'NOT_FOUND',
  ENOTDIR: 'NOT_A_DIRECTORY',
  EACCES: 'PERMISSION_DENIED',
  EPERM: 'PERMISSION_DENIED',
  ENOSPC: 'DISK_FULL',
  EDQUOT: 'DISK_FULL',
};

/** The system's name of an error, for example `ENOENT`. */
export function systemCode(cause: unknown): string {
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
}

/** What failed and what to do about it, with the system's own error as the cause. */
export function systemError(failed: string, advice: string, cause: unknown, details: Record<string, unknown> = {}) {
  const code = systemCode(cause);
  const known = Object.hasOwn(CODES, code) ? CODES[code] : undefined;
  return new TurnbackError(known ?? 'IO', `${failed}${code === '' ? '' : ` (${code})`}: ${advice}`, {
    cause,
    retryable: PASSING.has(code),
    details: { ...details, advice },
  });
}
