/**
 * A sandbox for each Vitest test (X1). Nothing of Vitest is imported: what is used of it is written down here.
 *
 * ```ts
 * import { test as base } from 'vitest';
 * import { type SandboxFixtures, sandboxFixtures } from 'turnback/testing/vitest';
 *
 * const test = base.extend<SandboxFixtures>(sandboxFixtures({ resource: 'fixtures/project' }));
 * test('deletes nothing else', async ({ sandbox }) => { … sandbox.path … });
 * ```
 */
import { invalidArgument } from '../errors.js';
import type { CopyOnWriteSandbox } from '../index.js';
import { type SandboxTestOptions, testOptions } from './options.js';
import { type Outcome, SandboxPool, type SandboxTest } from './pool.js';

export type { Outcome, SandboxPool, SandboxTest, SandboxTestOptions };

/** What a test gets. */
export interface SandboxFixtures {
  /** The test's own, as the fixture directory is, and rolled back after it. */
  sandbox: CopyOnWriteSandbox;
  /** The sandboxes of the file; for the fixture itself. */
  sandboxPool: SandboxPool;
}

/** What is used of what Vitest knows of a test, and changes while it runs. */
export interface Task {
  readonly name: string;
  /** The test is expected to fail. */
  readonly fails?: boolean | undefined;
  readonly result?:
    | {
        readonly state: string;
        /** There when all is over, hooks too, and `state` is what counts. */
        readonly duration?: number | undefined;
        readonly retryCount?: number | undefined;
        readonly repeatCount?: number | undefined;
      }
    | undefined;
}

/** What is used of Vitest's test context. */
export interface Context {
  readonly task: Task;
}

/** What a fixture hands its value over with: resolves when the test is over. */
export type Use<T> = (value: T) => Promise<void>;

/** The fixtures, for `test.extend`. They need Vitest 3.2 or later, whose fixtures may belong to a file. */
export interface VitestFixtures {
  sandboxPool: [(context: object, use: Use<SandboxPool>) => Promise<void>, { scope: 'file' }];
  sandbox: (context: Context & Pick<SandboxFixtures, 'sandboxPool'>, use: Use<CopyOnWriteSandbox>) => Promise<void>;
}

/** How the attempt ended in which this is called: Vitest tries a test more than once where `retry` or `repeats` ask for it. */
function outcomeOf(task: Task): () => Outcome {
  const { retryCount, repeatCount } = task.result ?? {};
  return () => {
    const { result, fails = false } = task;
    if (result === undefined) return 'open';
    const { state, duration } = result;
    if (state === 'skip') return 'failedAsMeant';
    const whereItFailed = fails ? 'failedAsMeant' : 'failed';
    if (result.repeatCount === repeatCount && result.retryCount !== retryCount) return whereItFailed;
    if (result.repeatCount !== repeatCount) {
      if (state === 'fail') return whereItFailed;
      return fails ? 'failed' : 'passed';
    }
    if (duration !== undefined) {
      if (state === 'fail') return 'failed';
      return fails ? 'failedAsMeant' : 'passed';
    }
    return state === 'fail' && !fails ? 'failed' : 'open';
  };
}

const say = (line: string) => console.error(line);

/** Vitest before 3.2 takes a fixture with a scope for a plain value. */
const tooOld = () =>
  invalidArgument(
    'sandboxPool',
    'sandboxPool is not what its fixture makes: install Vitest 3.2 or later, whose fixtures may belong to a file',
  );

/**
 * A sandbox of a fixture directory for each test that asks for `sandbox`, rolled back after it; concurrent tests have one each. All tests
 * of a file begin with the same baseline.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right
 */
export function sandboxFixtures(options: SandboxTestOptions): VitestFixtures {
  const checked = testOptions(options);
  return {
    sandboxPool: [
      // biome-ignore lint/correctness/noEmptyPattern: Vitest reads the pattern to know which fixtures this one needs.
      async ({}, use) => {
        await SandboxPool.lend(checked, use, say);
      },
      { scope: 'file' },
    ],
    sandbox: async ({ sandboxPool, task }, use) => {
      if (!(sandboxPool instanceof SandboxPool)) throw tooOld();
      const sandbox = await sandboxPool.take({ name: task.name, outcome: outcomeOf(task), say });
      await use(sandbox);
      await sandboxPool.giveBack(sandbox);
    },
  };
}
