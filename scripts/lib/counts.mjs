// How many tests passed, failed and were skipped, read out of what the test runners print.

/** @typedef {{ passed: number, failed: number, skipped: number }} Counts */

/** @returns {Counts} */
export const none = () => ({ passed: 0, failed: 0, skipped: 0 });

/** @param {Counts[]} all @returns {Counts} */
export const sum = (all) =>
  all.reduce(
    (a, b) => ({ passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped }),
    none(),
  );

/** @param {Counts} c */
export const sentence = (c) => `${c.passed} passed, ${c.failed} failed, ${c.skipped} skipped`;

/**
 * A Rust test cannot report itself as skipped. Ours print a line `skipped: REASON` and return; the runners show the
 * output of tests that pass, and each such line turns one passed test into a skipped one.
 * @param {string} output @returns {string[]} the reasons
 */
export const skipReasons = (output) =>
  [...output.matchAll(/^\s*skipped: (.+)$/gm)].map((found) => String(found[1]).trim());

/**
 * Vitest's verbose reporter ends the line of a skipped test with its reason in brackets.
 * @param {string} output
 * @returns {string[]}
 */
export const vitestSkipReasons = (output) =>
  [...output.matchAll(/^\s*↓ .* \[(.+)\]$/gm)].map((found) => String(found[1]));

/**
 * The names of skipped tests that give no reason, without the file and the groups that they stand in.
 * @param {string} output
 * @returns {string[]}
 */
export const vitestSkipsWithoutReason = (output) =>
  [...output.matchAll(/^\s*↓ (.*[^\]\s])\s*$/gm)].map((found) =>
    String(String(found[1]).split(' > ').at(-1))
      .replace(/ \d+\s?ms$/, '')
      .trim(),
  );

/** @param {Counts} counts @param {string[]} reasons @returns {Counts} */
const withSkips = (counts, reasons) => ({
  ...counts,
  passed: counts.passed - reasons.length,
  skipped: counts.skipped + reasons.length,
});

/**
 * `Summary [ 1.2s] 12 tests run: 10 passed (1 slow), 1 failed, 1 timed out, 3 skipped`
 * @param {string} output @returns {Counts | undefined} undefined when no summary was printed
 */
export function fromNextest(output) {
  const line = output.match(/^\s*Summary \[.*?\]\s+(?:\d+\/)?\d+ tests? run: (.*)$/m)?.[1];
  if (line === undefined) return undefined;
  /** @param {RegExp} what */
  const number = (what) => Number(line.match(what)?.[1] ?? 0);
  const counts = {
    passed: number(/(\d+) passed/),
    failed: number(/(\d+) failed/) + number(/(\d+) timed out/) + number(/(\d+) exec failed/),
    skipped: number(/(\d+) skipped/),
  };
  return withSkips(counts, skipReasons(output));
}

/**
 * `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out`, one line for each test binary.
 * @param {string} output @returns {Counts | undefined}
 */
export function fromCargoTest(output) {
  const lines = [...output.matchAll(/^test result: .*? (\d+) passed; (\d+) failed; (\d+) ignored;/gm)];
  if (lines.length === 0) return undefined;
  const counts = sum(
    lines.map(([, passed, failed, ignored]) => ({
      passed: Number(passed),
      failed: Number(failed),
      skipped: Number(ignored),
    })),
  );
  return withSkips(counts, skipReasons(output));
}

/**
 * The report that Vitest's `json` reporter writes. A file that cannot be loaded has no tests and counts as one failure.
 * @param {unknown} report
 * @returns {Counts | undefined}
 */
export function fromVitest(report) {
  if (typeof report !== 'object' || report === null || !('testResults' in report)) return undefined;
  const files = /** @type {{ status: string, assertionResults: { status: string }[] }[]} */ (report.testResults);
  const counts = none();
  for (const file of files) {
    for (const test of file.assertionResults) {
      if (test.status === 'passed') counts.passed++;
      else if (test.status === 'failed') counts.failed++;
      else counts.skipped++;
    }
    if (file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed')) counts.failed++;
  }
  return counts;
}
