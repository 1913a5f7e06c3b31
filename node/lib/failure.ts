import { ERROR_CODES, type ErrorCode, TurnbackError } from './errors.js';
import type { Failure } from './native.js';

/** Whether an answer of the addon is a failure. No successful answer has this property. */
export function isFailure(answer: unknown): answer is Failure {
  return typeof answer === 'object' && answer !== null && 'failureCode' in answer;
}

const NUMBERS = ['neededBytes', 'maxBytes', 'changes'];
/** Lists, and what stands between their entries. */
const LISTS = { paths: '\n', undone: '\n', notUndone: '\n', allowed: ', ' };

/** Details cross as text. What is a number, a yes or a list is one again. */
function typed(told: Record<string, string>): Record<string, unknown> {
  const details: Record<string, unknown> = { ...told };
  for (const name of NUMBERS) if (name in told) details[name] = Number(told[name]);
  for (const name of ['pending', 'begun']) if (name in told) details[name] = told[name] === 'true';
  for (const [name, between] of Object.entries(LISTS)) {
    const joined = told[name];
    if (joined !== undefined) details[name] = Object.freeze(joined === '' ? [] : joined.split(between));
  }
  return details;
}

/** The error object of a failure. */
export function fromFailure(failure: Failure): TurnbackError {
  const code: ErrorCode = ERROR_CODES.find((known) => known === failure.failureCode) ?? 'IO';
  const details = typed(failure.details);
  if (failure.advice !== '') details.advice = failure.advice;
  if (failure.path !== undefined) {
    details.path = failure.path.text;
    if (failure.path.bytes !== undefined) details.pathBytes = failure.path.bytes;
  }
  const cause = failure.causes.reduceRight<Error | undefined>(
    (inner, text) => new Error(text, inner === undefined ? undefined : { cause: inner }),
    undefined,
  );
  return new TurnbackError(code, failure.message, { retryable: failure.retryable, details, cause });
}

/** The value of an answer; a failure is thrown. */
export function unwrap<T>(answer: T | Failure): T {
  if (isFailure(answer)) throw fromFailure(answer);
  return answer;
}
