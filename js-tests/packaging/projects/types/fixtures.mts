// The fixtures in the types of the runners themselves.
import { test as playwright } from '@playwright/test';
import * as forPlaywright from 'turnback/testing/playwright';
import * as forVitest from 'turnback/testing/vitest';
import { test as vitest } from 'vitest';

const inVitest = vitest.extend<forVitest.SandboxFixtures>(forVitest.sandboxFixtures({ resource: 'fixture' }));
inVitest('has a sandbox', async ({ sandbox }) => {
  const path: string = sandbox.path;
  // @ts-expect-error: it is no number
  const wrong: number = sandbox.path;
  return void [path, wrong];
});

const inPlaywright = playwright.extend<forPlaywright.SandboxFixtures, forPlaywright.SandboxWorkerFixtures>(
  forPlaywright.sandboxFixtures({ resource: 'fixture' }),
);
inPlaywright('has a sandbox', async ({ sandbox }) => {
  const path: string = sandbox.path;
  // @ts-expect-error: it is no number
  const wrong: number = sandbox.path;
  return void [path, wrong];
});
