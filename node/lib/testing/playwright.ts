/**
 * A sandbox for each test of Playwright Test (X1); no browser is needed for it. Nothing of Playwright is imported: what is used of it is
 * written down here.
 *
 * ```ts
 * import { test as base } from '@playwright/test';
 * import { type SandboxFixtures, type SandboxWorkerFixtures, sandboxFixtures } from 'turnback/testing/playwright';
 *
 * const test = base.extend<SandboxFixtures, SandboxWorkerFixtures>(sandboxFixtures({ resource: 'fixtures/project' }));
 * test('deletes nothing else', async ({ sandbox }) => { … sandbox.path … });
 * ```
 */
import type { CopyOnWriteSandbox } from '../index.js';
import { type SandboxTestOptions, testOptions } from './options.js';
import { type Outcome, SandboxPool, type SandboxTest } from './pool.js';

export type { Outcome, SandboxPool, SandboxTest, SandboxTestOptions };

/** What a test gets. */
export interface SandboxFixtures {
  /** The test's own, as the fixture directory is, and rolled back after it. */
  sandbox: CopyOnWriteSandbox;
}

/** What a worker has. */
export interface SandboxWorkerFixtures {
  /** The sandboxes of the worker; for the fixture itself. */
  sandboxPool: SandboxPool;
}

/** What is used of Playwright's `TestInfo`. */
export interface Info {
  readonly title: string;
  readonly status?: string | undefined;
  readonly expectedStatus: string;
}

/** What a fixture hands its value over with: resolves when the test is over. */
export type Use<T> = (value: T) => Promise<void>;

/** The fixtures, for `test.extend`. */
export interface PlaywrightFixtures {
  sandboxPool: [(context: object, use: Use<SandboxPool>) => Promise<void>, { scope: 'worker' }];
  sandbox: (context: SandboxWorkerFixtures, use: Use<CopyOnWriteSandbox>, info: Info) => Promise<void>;
}

/** Other fixtures that are taken down later can still fail the test. A worker has one test after the other, so the next one finds it over. */
function outcomeOf({ status, expectedStatus }: Info): Outcome {
  if (status !== expectedStatus && status !== 'skipped') return 'failed';
  return status === 'passed' || status === 'skipped' ? 'passed' : 'failedAsMeant';
}

const say = (line: string) => console.error(line);

/**
 * A sandbox of a fixture directory for each test that asks for `sandbox`, rolled back after it. All tests of a worker begin with the same
 * baseline; Playwright starts a new worker after a failed test.
 *
 * @throws TurnbackError `INVALID_ARGUMENT` for options that can never be right
 */
export function sandboxFixtures(options: SandboxTestOptions): PlaywrightFixtures {
  const checked = testOptions(options);
  return {
    sandboxPool: [
      // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the pattern to know which fixtures this one needs.
      async ({}, use) => {
        await SandboxPool.lend(checked, use, say);
      },
      { scope: 'worker' },
    ],
    sandbox: async ({ sandboxPool }, use, info) => {
      const sandbox = await sandboxPool.take({ name: info.title, outcome: () => outcomeOf(info), say });
      await use(sandbox);
      await sandboxPool.giveBack(sandbox);
    },
  };
}
