import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { sandboxFixtures } from 'turnback/testing/vitest';
import { test as base, expect } from 'vitest';
import { tidy } from './tidy.mjs';

const test = base.extend(
  sandboxFixtures({ resource: new URL('./project', import.meta.url), keepOnFailure: process.env.KEEP === '1' }),
);

test('removes what a build made, and nothing else', async ({ sandbox }) => {
  expect(tidy(sandbox.path)).toEqual(['main.o']);
  expect(await sandbox.changes()).toMatchObject([{ path: 'main.o', kind: 'deleted' }]);
});

test('may do its worst to its own copy', ({ sandbox }) => {
  rmSync(join(sandbox.path, 'src'), { recursive: true });
});

test.concurrent.for([1, 2, 3])('begins with everything, at the same time as others (%i)', async (_, { sandbox }) => {
  expect(existsSync(join(sandbox.path, 'main.o'))).toBe(true);
  expect(existsSync(join(sandbox.path, 'src', 'main.c'))).toBe(true);
  tidy(sandbox.path);
});
