// The committed types of the addon are those that this build of the addon generated.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PACKAGE } from './support.js';

it('lib/native.d.ts is up to date (else run `npm run types -w turnback` and commit it)', () => {
  const committed = readFileSync(join(PACKAGE, 'lib', 'native.d.ts'), 'utf8');
  expect(committed).toBe(readFileSync(join(PACKAGE, 'dist', 'native.d.ts'), 'utf8'));
});

it('it declares exactly what the addon exports', () => {
  const addon: Record<string, unknown> = createRequire(import.meta.url)(join(PACKAGE, 'turnback.node'));
  const declared = readFileSync(join(PACKAGE, 'lib', 'native.d.ts'), 'utf8').matchAll(
    /^export declare (?:class|function) (\w+)/gm,
  );
  expect(Object.keys(addon).sort()).toEqual([...declared].map(([, name]) => name).sort());
});
