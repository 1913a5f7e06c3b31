// npm test: builds everything and runs every test.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  fromCargoTest,
  fromNextest,
  fromVitest,
  skipReasons,
  vitestSkipReasons,
  vitestSkipsWithoutReason,
} from './lib/counts.mjs';
import { allowedSkips, unlisted } from './lib/skips.mjs';
import { cCompiler, checkNode, checkRust, hasCargo, npm, Trouble } from './lib/tools.mjs';

const VITEST_REPORT = join('target', 'vitest.json');
const bin = (/** @type {string} */ name) => join('node_modules', '.bin', name);

/** @param {string[]} reasons */
const remark = (reasons) => (reasons.length > 0 ? `skipped: ${[...new Set(reasons)].join('; ')}` : undefined);

/**
 * In CI a test that does not run is a failure, unless its reason stands in the list.
 * @param {string[]} reasons
 */
const refusedSkips = (reasons) =>
  process.env.CI
    ? unlisted(reasons, allowedSkips(join('scripts', 'allowed-skips.txt'))).map(
        (reason) => `skipped, and not in scripts/allowed-skips.txt: ${reason}`,
      )
    : [];
const refusedRust = (/** @type {string} */ output) => refusedSkips(skipReasons(output));
const refusedJs = (/** @type {string} */ output) =>
  refusedSkips([...vitestSkipReasons(output), ...vitestSkipsWithoutReason(output)]);

const whySkipped = (/** @type {string} */ output) => remark(skipReasons(output));

/** @returns {import('./lib/counts.mjs').Counts | undefined} */
function vitestCounts() {
  if (!existsSync(VITEST_REPORT)) return undefined;
  return fromVitest(JSON.parse(readFileSync(VITEST_REPORT, 'utf8')));
}

/** @returns {import('./lib/steps.mjs').Step} */
function rustTests() {
  const name = 'Rust tests';
  if (hasCargo('nextest')) {
    const command = ['cargo', 'nextest', 'run', '--workspace', '--no-fail-fast', '--success-output', 'immediate'];
    return { name, command, counts: fromNextest, note: whySkipped, refused: refusedRust };
  }
  // Not --all-targets: benches have a runner of their own that does not know --show-output.
  const targets = ['--lib', '--bins', '--tests', '--examples'];
  const command = ['cargo', 'test', '--workspace', ...targets, '--no-fail-fast', '--', '--show-output'];
  return { name, command, counts: fromCargoTest, note: whySkipped, refused: refusedRust };
}

try {
  checkNode();
  process.chdir(join(import.meta.dirname, '..'));
  checkRust();
  cCompiler();
  const { addon, packages, page, policy } = await import('./lib/plan.mjs');
  const { createSteps } = await import('./lib/steps.mjs');
  /** @type {import('./lib/steps.mjs').Step[]} */
  const plan = [
    { name: 'Rust format', command: ['cargo', 'fmt', '--all', '--check'] },
    packages(),
    { name: 'Biome', command: [bin('biome'), 'check', '.'], needs: ['npm packages'] },
    { name: 'Unused code', command: [bin('knip'), '--no-progress'], needs: ['npm packages'] },
    {
      name: 'Rust lints',
      command: ['cargo', 'clippy', '--workspace', '--all-targets', '--', '-D', 'warnings'],
    },
    rustTests(),
    { name: 'Rust doc tests', command: ['cargo', 'test', '--workspace', '--doc'], counts: fromCargoTest },
    addon(),
    policy(),
    page(),
    { name: 'browser', command: [process.execPath, join('scripts', 'browser.mjs')], note: whySkipped },
    {
      name: 'TypeScript',
      command: [bin('tsc'), '--noEmit', '-p', 'js-tests'],
      needs: ['package turnback', 'package turnback-policy'],
    },
    {
      // Apart: what runs inside of a page has other globals.
      name: 'TypeScript in the browser',
      command: [bin('tsc'), '-p', join('js-tests', 'browser')],
      needs: ['package turnback-policy'],
    },
    {
      name: 'API reference',
      command: [...npm().flat(), 'run', 'docs'],
      needs: ['package turnback', 'package turnback-policy'],
    },
    {
      name: 'JavaScript tests',
      command: [bin('vitest'), 'run', '--reporter=verbose', '--reporter=json', `--outputFile.json=${VITEST_REPORT}`],
      counts: vitestCounts,
      note: (output) => remark(vitestSkipReasons(output)),
      refused: refusedJs,
      env: { NO_COLOR: '1' },
      needs: ['package turnback', 'package turnback-policy', 'simulator page'],
    },
  ];
  mkdirSync('target', { recursive: true });
  rmSync(VITEST_REPORT, { force: true });
  const steps = createSteps('Turnback: build everything and run every test', plan.length);
  for (const step of plan) await steps.run(step);
  process.exitCode = steps.finish({ tests: true });
} catch (error) {
  if (!(error instanceof Trouble)) throw error;
  console.error(`npm test: ${error.message}`);
  process.exitCode = 1;
}
