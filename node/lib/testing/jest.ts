/**
 * A sandbox for each Jest test (X1). Nothing of Jest is imported: what is used of it is written down here.
 *
 * ```js
 * import { sandboxPerTest } from 'turnback/testing/jest'; // or require()
 *
 * const withSandbox = sandboxPerTest({ resource: 'fixtures/project' });
 * test('deletes nothing else', withSandbox(async (sandbox) => { … sandbox.path … }));
 * test.concurrent.each([1, 2])('%i', withSandbox(async (sandbox, n) => { … }));
 * ```
 */
import { callback } from '../check.js';
import { invalidArgument } from '../errors.js';
import type { CopyOnWriteSandbox } from '../index.js';
import { type ExpectState, nameOf, outcomeOf, runningTest } from './circus.js';
import { type SandboxTestOptions, testOptions } from './options.js';
import { type Outcome, SandboxPool } from './pool.js';

export type { SandboxTestOptions };

/** Makes a test's function out of one that takes a sandbox before the test's own arguments. */
export type WithSandbox = <Args extends unknown[]>(
  test: (sandbox: CopyOnWriteSandbox, ...args: Args) => unknown,
) => (...args: Args) => Promise<void>;

/** What is used of Jest's hooks. */
export interface JestHooks {
  afterAll(hook: () => Promise<void>): void;
}

/** Jest's globals that are used, where `injectGlobals` is not switched off. */
interface Globals extends Partial<JestHooks> {
  expect?: { getState?(): ExpectState };
}

/** Not the console: Jest prints a stack with each of its lines. */
const say = (line: string) => void process.stderr.write(`${line}\n`);

/**
 * Gives each test a sandbox of a fixture directory, which is rolled back after it; concurrent tests have one each. All tests of a file
 * begin with the same baseline. To be called at the top of the test file or of a `describe`: the sandboxes go when its tests have ended.
 *
 * @param hooks Jest's `afterAll`, where `injectGlobals` is off: `sandboxPerTest(options, { afterAll })` with the one of `@jest/globals`
 * @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right
 */
export function sandboxPerTest(options: SandboxTestOptions, hooks?: JestHooks): WithSandbox {
  const globals = globalThis as Globals;
  const afterAll = hooks?.afterAll ?? globals.afterAll;
  if (typeof afterAll !== 'function') {
    throw invalidArgument(
      'hooks',
      'there is no afterAll here: call this in a test file that Jest runs, and where injectGlobals is off pass { afterAll } of @jest/globals',
    );
  }
  const pool = new SandboxPool(testOptions(options));
  afterAll(() => pool.close(say));
  return (test) => {
    callback()('test', test);
    return async (...args) => {
      const state = globals.expect?.getState?.();
      // Now, not later: after the first `await` another test may be the one that runs.
      const running = runningTest(state);
      const attempt = running?.invocations ?? 0;
      const name = running === undefined ? (state?.currentTestName ?? 'unnamed') : nameOf(running);
      let threw = true;
      const outcome = (): Outcome => {
        if (running !== undefined) return outcomeOf(running, attempt, threw);
        return threw ? 'failed' : 'passed';
      };
      const sandbox = await pool.take({ name, outcome, say });
      try {
        await test(sandbox, ...args);
        threw = false;
      } finally {
        await pool.giveBack(sandbox);
      }
    };
  };
}
