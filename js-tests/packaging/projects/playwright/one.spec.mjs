import { test as base, expect } from '@playwright/test';
import { sandboxFixtures } from 'turnback/testing/playwright';
import { begins } from './seen.cjs';
import { upset } from './work.cjs';

const file = import.meta.filename;
const test = base.extend(sandboxFixtures({ resource: 'fixture' }));

test('upsets', async ({ sandbox }) => {
  begins(file, 'upsets', sandbox);
  upset(sandbox.path);
  expect((await sandbox.changes()).length).toBeGreaterThan(4);
});

test('begins anew', async ({ sandbox }) => begins(file, 'begins anew', sandbox));
