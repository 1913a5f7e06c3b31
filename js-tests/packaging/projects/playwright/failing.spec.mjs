import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test as base, expect } from '@playwright/test';
import { sandboxFixtures } from 'turnback/testing/playwright';
import { begins } from './seen.cjs';

const file = import.meta.filename;
const test = base
  .extend({
    // The sandbox needs nothing of it, and it is begun first: so it is taken down last.
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the pattern to know which fixtures this one needs.
    breaks: async ({}, use) => {
      await use();
      expect(1).toBe(2);
    },
  })
  .extend(sandboxFixtures({ resource: 'fixture', keepOnFailure: true }));
const leave = (sandbox) => writeFileSync(join(sandbox.path, 'evidence'), 'left\n');

test('fails', async ({ sandbox }) => {
  leave(sandbox);
  expect(1).toBe(2);
});
test('never ends', async ({ sandbox }) => {
  test.setTimeout(500);
  leave(sandbox);
  await new Promise(() => {});
});
test('fails as it should', async ({ sandbox }) => {
  test.fail();
  leave(sandbox);
  expect(1).toBe(2);
});
test('passes and should not', async ({ sandbox }) => {
  test.fail();
  leave(sandbox);
});
test('has a fixture that fails', async ({ breaks: _, sandbox }) => leave(sandbox));
test('comes after', async ({ sandbox }) => begins(file, 'comes after', sandbox));
