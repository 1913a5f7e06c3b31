// The last line of `npm test` is the sum of these.
import { describe, expect, test } from 'vitest';
import {
  fromCargoTest,
  fromNextest,
  fromVitest,
  sentence,
  skipReasons,
  sum,
  vitestSkipReasons,
  vitestSkipsWithoutReason,
} from '../../scripts/lib/counts.mjs';
import { listed, unlisted } from '../../scripts/lib/skips.mjs';

describe('cargo nextest', () => {
  test.each([
    ['     Summary [   0.006s] 2 tests run: 2 passed, 0 skipped', [2, 0, 0]],
    ['     Summary [   1.234s] 12 tests run: 10 passed (1 slow), 1 failed, 1 timed out, 3 skipped', [10, 2, 3]],
    ['     Summary [   0.006s] 1 test run: 1 passed, 0 skipped', [1, 0, 0]],
    ['     Summary [   0.006s] 3/9 tests run: 1 passed, 2 failed, 0 skipped', [1, 2, 0]],
    ['     Summary [   0.006s] 4 tests run: 2 passed, 2 exec failed, 1 skipped', [2, 2, 1]],
  ])('%s', (output, [passed, failed, skipped]) => {
    expect(fromNextest(output)).toEqual({ passed, failed, skipped });
  });

  test('a test that says why it skips itself counts as skipped', () => {
    const output =
      '  PASS x\n    stdout ───\n    skipped: needs root\n     Summary [ 0.1s] 3 tests run: 3 passed, 0 skipped';
    expect(fromNextest(output)).toEqual({ passed: 2, failed: 0, skipped: 1 });
    expect(skipReasons(output)).toEqual(['needs root']);
  });

  test('no summary is no count', () => {
    expect(fromNextest('error: could not compile')).toBeUndefined();
  });
});

test('cargo test sums its binaries', () => {
  const output = [
    'test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s',
    'test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s',
  ].join('\n');
  expect(fromCargoTest(output)).toEqual({ passed: 4, failed: 2, skipped: 1 });
  expect(fromCargoTest('error[E0425]')).toBeUndefined();
});

test('Vitest: a file that cannot be loaded is a failure', () => {
  const report = {
    testResults: [
      { status: 'passed', assertionResults: [{ status: 'passed' }, { status: 'pending' }, { status: 'todo' }] },
      { status: 'failed', assertionResults: [{ status: 'failed' }] },
      { status: 'failed', assertionResults: [] },
    ],
  };
  expect(fromVitest(report)).toEqual({ passed: 1, failed: 2, skipped: 2 });
  expect(fromVitest({})).toBeUndefined();
});

test('Vitest: the reasons of skipped tests', () => {
  const output =
    ' ✓ a.test.ts > works [fast] 1ms\n ↓ a.test.ts > needs > root 1ms [root reads everything]\n ↓ b > later\n';
  expect(vitestSkipReasons(output)).toEqual(['root reads everything']);
  expect(vitestSkipsWithoutReason(output)).toEqual(['later']);
  expect(vitestSkipsWithoutReason(' ↓ a.test.ts > group > refused (by root) 0ms')).toEqual(['refused (by root)']);
});

test('CI refuses a skip that is not in the list', () => {
  const allowed = listed('# why\n\nno strace\nmounts: *\n');
  expect(allowed).toEqual(['no strace', 'mounts: *']);
  expect(unlisted(['no strace', 'mounts: not permitted'], allowed)).toEqual([]);
  expect(unlisted(['no strace here', 'no mounts', 'no mounts'], allowed)).toEqual(['no strace here', 'no mounts']);
});

test('the last line', () => {
  const all = sum([
    { passed: 1, failed: 0, skipped: 2 },
    { passed: 10, failed: 1, skipped: 0 },
  ]);
  expect(sentence(all)).toBe('11 passed, 1 failed, 2 skipped');
});
