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
import { SandboxPool } from './pool.js';

export type { SandboxTestOptions };

/** What is used of the context that `node:test` gives a test. */
export interface NodeTestContext {
  readonly name: string;
  /** Whether the test has passed, in Node 20.12 and later. */
  readonly passed?: boolean | undefined;
  after(hook: () => Promise<void>): void;
  diagnostic(message: string): void;
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
  node.test.after(() => pool.close((line) => console.error(line)));
  return async (t) => {
    if (typeof t?.after !== 'function') {
      throw invalidArgument(
        't',
        't is no test context: pass what node:test gave the test, as in `test(name, async (t) => …)`',
      );
    }
    const sandbox = await pool.take(t.name);
    t.after(() => {
      const failed = t.passed === false;
      return pool.giveBack(sandbox, { test: t.name, failed, finished: !failed, say: (line) => t.diagnostic(line) });
    });
    return sandbox;
  };
}
