/**
 * A sandbox for each test of `node:test` (X1).
 *
 * ```js
 * import { test } from 'node:test';
 * import { sandboxPerTest } from 'turnback/testing/node-test';
 *
 * const sandboxOf = sandboxPerTest({ resource: 'fixtures/project' });
 * test('deletes nothing else', async (t) => {
 *   const sandbox = await sandboxOf(t);
 * });
 * ```
 */

import { node } from '../builtin.js';
import { invalidArgument } from '../errors.js';
import type { CopyOnWriteSandbox } from '../index.js';
import { type SandboxTestOptions, testOptions } from './options.js';
import { type Outcome, SandboxPool } from './pool.js';

export type { SandboxTestOptions };

/** What is used of the context that `node:test` gives a test. */
export interface NodeTestContext {
  readonly name: string;
  /** Whether the test has passed, in Node 20.12 and later. */
  readonly passed?: boolean | undefined;
  /** What the test failed with, also where it was meant to. */
  readonly error?: unknown;
  /** Aborted when the test is over, right before its subtests are counted. */
  readonly signal: { readonly aborted: boolean };
  after(hook: () => Promise<void>): void;
  diagnostic(message: string): void;
}

/** `passed` is true while the hooks run, which can still fail the test, as can its subtests: these are counted when all is over. */
function outcomeOf(t: NodeTestContext): Outcome {
  if (t.passed === false) return 'failed';
  if (!t.signal.aborted) return 'open';
  // `expectFailure`, in Node 24 and later.
  return t.error === undefined || t.error === null ? 'passed' : 'failedAsMeant';
}

/**
 * Gives each test a sandbox of a fixture directory, which is rolled back after it; concurrent tests and subtests have one each. All tests
 * of a file begin with the same baseline. To be called at the top of the test file: the sandboxes go when all of its tests have ended.
 *
 * @returns what gives a test its sandbox, from the test's context
 * @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right
 */
export function sandboxPerTest(options: SandboxTestOptions): (t: NodeTestContext) => Promise<CopyOnWriteSandbox> {
  const pool = new SandboxPool(testOptions(options));
  const print = (line: string) => console.error(line);
  node.test.after(() => pool.close(print));
  return async (t) => {
    if (typeof t?.after !== 'function') {
      throw invalidArgument(
        't',
        't is no test context: pass what node:test gave the test, as in `test(name, async (t) => …)`',
      );
    }
    // What is said of a test that is over reaches no report.
    const say = (line: string) => (t.signal.aborted ? print(line) : t.diagnostic(line));
    const sandbox = await pool.take({ name: t.name, outcome: () => outcomeOf(t), say });
    t.after(() => pool.giveBack(sandbox));
    return sandbox;
  };
}
