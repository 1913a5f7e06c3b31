import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sandboxPerTest } from 'turnback/testing/node-test';
import { begins } from './seen.cjs';
import { pair, upset } from './work.cjs';

const file = import.meta.filename;
const meet = pair();
const sandboxOf = sandboxPerTest({ resource: 'fixture' });

test('upsets', async (t) => {
  const sandbox = await sandboxOf(t);
  begins(file, 'upsets', sandbox);
  upset(sandbox.path);
  assert.ok((await sandbox.changes()).length > 4);
});

test('begins anew', async (t) => begins(file, 'begins anew', await sandboxOf(t)));

describe('at the same time', { concurrency: true }, () => {
  for (const name of ['first', 'second']) {
    test(`${name} of two`, async (t) => {
      const sandbox = await sandboxOf(t);
      begins(file, name, sandbox);
      await meet(name, sandbox.path);
    });
  }
});

test('comes last', async (t) => begins(file, 'comes last', await sandboxOf(t)));
