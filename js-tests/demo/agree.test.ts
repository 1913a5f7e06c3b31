// The demo does not take the engine's diff at its word (issue 2, item 3).
import { expect, test } from 'vitest';
import { disagreements, pathOf } from '../../demo/lib/agree.mjs';
import type { Difference } from '../../demo/picture/compare.mjs';
import type { Entry, Picture } from '../../demo/picture/parse.mjs';

const differs = (path: string, kind: Difference['kind']): Difference => ({ path, kind, before: '', after: '' });

const entry = (path: string, type: string): Entry => ({
  path,
  type,
  mode: '0644',
  owner: '0:0',
  mtime: '0.000000000',
  size: '0',
  inode: '0:0',
  links: 1,
  holes: 0,
  sha256: '',
  target: '',
  xattrs: '',
});
const before: Picture = new Map([entry('a', 'file'), entry('dir', 'directory')].map((one) => [one.path, one]));

test.each([
  ['deleted', differs('a', 'missing')],
  ['added', differs('a', 'extra')],
  ['type_changed', differs('a', 'type')],
  ['modified', differs('a', 'bytes')],
  ['modified', differs('a', 'target')],
  ['metadata', differs('a', 'mtime')],
  ['metadata', differs('a', 'hardlinks')],
])('%s agrees with what is seen, and silence does not', (kind, difference) => {
  expect(disagreements([difference], before, [{ path: 'a', kind }])).toEqual([]);
  expect(disagreements([difference], before, [])).toHaveLength(1);
});

test('a wrong kind and a change that is none are found', () => {
  expect(disagreements([differs('a', 'bytes')], before, [{ path: 'a', kind: 'metadata' }])).toHaveLength(1);
  expect(disagreements([], before, [{ path: 'a', kind: 'deleted' }])).toHaveLength(1);
  expect(disagreements([], before, [{ path: 'link', kind: 'metadata' }])).toEqual([]);
});

test('a directory of which only the mtime differs may be left out, with any other change not', () => {
  expect(disagreements([differs('dir', 'mtime')], before, [])).toEqual([]);
  expect(disagreements([differs('dir', 'mtime'), differs('dir', 'mode')], before, [])).toHaveLength(1);
  expect(disagreements([differs('a', 'mtime')], before, [])).toHaveLength(1);
});

test('names are compared by their bytes', () => {
  expect(pathOf({ path: '' })).toBe('.');
  expect(pathOf({ path: 'a\nb' })).toBe('a\\x0ab');
  expect(pathOf({ path: 'a\\xff', pathBytes: Uint8Array.of(0x61, 0xff) })).toBe('a\\xff');
});
