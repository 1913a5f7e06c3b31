/**
 * What Jest's runner, jest-circus, knows of the test that runs. Jest shows a test nothing of how it ends, and its hooks are not told
 * either: `expect.assertions`, an `afterEach` that throws and `test.failing` all count after the test's function. The runner's own record
 * of the test says it, and is there to be read; nothing of it is changed.
 */
import type { Outcome } from './pool.js';

/** What is used of the record of a test. */
export interface CircusTest {
  readonly name: string;
  readonly parent?: CircusBlock | undefined;
  /** What it failed with so far, emptied when it is tried again. */
  readonly errors: readonly unknown[];
  /** How often it was begun: more than once where `jest.retryTimes` asks for it. */
  readonly invocations: number;
  /** `done` when its hooks have run. */
  readonly status?: string | null | undefined;
  /** The test is expected to fail. */
  readonly failing?: boolean | undefined;
}

/** A `describe`, or the whole file, which has no block around it. */
interface CircusBlock {
  readonly name: string;
  readonly parent?: CircusBlock | undefined;
  /** Tests, and blocks with tests. */
  readonly children?: readonly (CircusBlock & { readonly concurrent?: boolean | undefined })[] | undefined;
}

/** What `expect.getState()` says, with the record of the test in Jest 30.5 and later. */
export interface ExpectState {
  readonly currentTestName?: string | undefined;
  readonly currentTestIdentity?: (() => unknown) | undefined;
}

const isTest = (value: unknown): value is CircusTest =>
  typeof value === 'object' &&
  value !== null &&
  'errors' in value &&
  Array.isArray(value.errors) &&
  'invocations' in value;

/** Whether there are tests in it that run at the same time as others. */
function hasConcurrent(block: CircusBlock): boolean {
  return (block.children ?? []).some((child) => child.concurrent === true || hasConcurrent(child));
}

/** What is used of what the runner knows of a file. */
interface CircusState {
  readonly currentlyRunningTest?: unknown;
  readonly rootDescribeBlock: CircusBlock;
}

/** The record of the test that the runner began last, where that can be no other than the one that runs. */
function begunLast(): CircusTest | undefined {
  const key = Object.getOwnPropertySymbols(globalThis).find(({ description }) => description === 'JEST_STATE_SYMBOL');
  if (key === undefined) return undefined;
  const state = (globalThis as { [key]?: CircusState })[key];
  const test = state?.currentlyRunningTest;
  return isTest(test) && state !== undefined && !hasConcurrent(state.rootDescribeBlock) ? test : undefined;
}

/** The record of the test whose function is being called; `undefined` where the runner shows none. */
export function runningTest(state: ExpectState | undefined): CircusTest | undefined {
  const test = state?.currentTestIdentity?.();
  return isTest(test) ? test : begunLast();
}

/** What Jest calls the test in its output. */
export function nameOf(test: CircusTest): string {
  const names = [test.name];
  for (let block = test.parent; block?.parent !== undefined; block = block.parent) names.unshift(block.name);
  return names.join(' ');
}

/** How the attempt ended that was number `attempt`, and whose function threw or not. */
export function outcomeOf(test: CircusTest, attempt: number, threw: boolean): Outcome {
  const { errors, failing = false, invocations, status } = test;
  if (threw && !failing) return 'failed';
  // Only what failed is tried again.
  if (invocations !== attempt || errors.length > 0) return 'failed';
  if (status !== 'done') return 'open';
  return threw ? 'failedAsMeant' : 'passed';
}
