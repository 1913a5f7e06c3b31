import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sandboxFixtures } from 'turnback/testing/vitest';
import { test as base, expect, onTestFinished } from 'vitest';
import { begins } from './seen.cjs';

const file = import.meta.filename;
const test = base.extend(sandboxFixtures({ resource: 'fixture', keepOnFailure: true }));
const leave = (sandbox) => writeFileSync(join(sandbox.path, 'evidence'), 'left\n');

test('fails', async ({ sandbox }) => {
  leave(sandbox);
  expect(1).toBe(2);
});
test('never ends', { timeout: 500 }, async ({ sandbox }) => {
  leave(sandbox);
  await new Promise(() => {});
});
test.fails('fails as it should', async ({ sandbox }) => {
  leave(sandbox);
  expect(1).toBe(2);
});
test.fails('passes and should not', async ({ sandbox }) => leave(sandbox));
test('has a hook that fails', async ({ sandbox }) => {
  leave(sandbox);
  onTestFinished(() => expect(1).toBe(2));
});
let attempts = 0;
test('is tried again after a hook that failed', { retry: 1 }, async ({ sandbox }) => {
  attempts += 1;
  if (attempts === 1) {
    leave(sandbox);
    onTestFinished(() => expect(1).toBe(2));
  }
});
test('comes after', async ({ sandbox }) => begins(file, 'comes after', sandbox));
