import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sandboxPerTest } from 'turnback/testing/node-test';
import { begins } from './seen.cjs';

const file = import.meta.filename;
const sandboxOf = sandboxPerTest({ resource: 'fixture', keepOnFailure: true });
const leave = (sandbox) => writeFileSync(join(sandbox.path, 'evidence'), 'left\n');

test('fails', async (t) => {
  leave(await sandboxOf(t));
  assert.equal(1, 2);
});
test('never ends', { timeout: 500 }, async (t) => {
  leave(await sandboxOf(t));
  await new Promise((resolve) => setTimeout(resolve, 2000));
});
test('has a subtest that fails', async (t) => {
  const sandbox = await sandboxOf(t);
  await t.test('fails within', () => {
    leave(sandbox);
    assert.equal(1, 2);
  });
});
test('has subtests that overlap', async (t) => {
  const one = (name, work) =>
    t.test(name, async (t) => {
      const sandbox = await sandboxOf(t);
      leave(sandbox);
      work();
    });
  await Promise.all([one('passes beside it', () => {}), one('fails beside it', () => assert.equal(1, 2))]);
});
test('has a hook that fails', async (t) => {
  leave(await sandboxOf(t));
  t.after(() => assert.equal(1, 2));
});
test('comes after', async (t) => begins(file, 'comes after', await sandboxOf(t)));
