import { sandboxFixtures } from 'turnback/testing/vitest';
import { test as base, expect } from 'vitest';
import { begins } from './seen.cjs';
import { pair, upset } from './work.cjs';

const file = import.meta.filename;
const meet = pair();
const test = base.extend(sandboxFixtures({ resource: 'fixture' }));

test('upsets', async ({ sandbox }) => {
  begins(file, 'upsets', sandbox);
  upset(sandbox.path);
  expect((await sandbox.changes()).length).toBeGreaterThan(4);
});

test('begins anew', async ({ sandbox }) => begins(file, 'begins anew', sandbox));

test.concurrent.for(['first', 'second'])('%s of two', async (name, { sandbox }) => {
  begins(file, name, sandbox);
  await meet(name, sandbox.path);
});

test('comes last', async ({ sandbox }) => begins(file, 'comes last', sandbox));
