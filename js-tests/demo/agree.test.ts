// The demo does not take the engine's diff at its word (issue 2, item 3).
import { expect, test } from 'vitest';
import { disagreements, pathOf } from '../../demo/lib/agree.mjs';
import type { Difference } from '../../demo/picture/compare.mjs';

const differs = (path: string, kind: Difference['kind']): Difference => ({ path, kind, before: '', after: '' });

test.each([
  ['deleted', differs('a', 'missing')],
  ['added', differs('a', 'extra')],
  ['type_changed', differs('a', 'type')],
  ['modified', differs('a', 'bytes')],
  ['modified', differs('a', 'target')],
  ['metadata', differs('a', 'mtime')],
  ['metadata', differs('a', 'hardlinks')],
])('%s agrees with what is seen, and silence does not', (kind, difference) => {
  expect(disagreements([difference], [{ path: 'a', kind }])).toEqual([]);
  expect(disagreements([difference], [])).toHaveLength(1);
});

test('a wrong kind and a change that is none are found', () => {
  expect(disagreements([differs('a', 'bytes')], [{ path: 'a', kind: 'metadata' }])).toHaveLength(1);
  expect(disagreements([], [{ path: 'a', kind: 'deleted' }])).toHaveLength(1);
  expect(disagreements([], [{ path: 'link', kind: 'metadata' }])).toEqual([]);
});

test('names are compared by their bytes', () => {
  expect(pathOf({ path: '' })).toBe('.');
  expect(pathOf({ path: 'a\nb' })).toBe('a\\x0ab');
  expect(pathOf({ path: 'a\\xff', pathBytes: Uint8Array.of(0x61, 0xff) })).toBe('a\\xff');
});
