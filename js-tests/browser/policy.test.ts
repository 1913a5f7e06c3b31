// P2, P5: the package in a real browser as it is published, without a bundler: in a page and in a worker, with the answers that Node has.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkpointComment } from 'turnback-policy';
import { type Scenario, simulate } from 'turnback-policy/simulate';
import { describe, expect } from 'vitest';
import { inBrowser, openAt, test } from './page.js';

const ROOT = join(import.meta.dirname, '..', '..');
const VECTORS = join(ROOT, 'js-tests', 'vectors', 'simulate');
const scenarios = readdirSync(VECTORS).map(
  (file): Scenario => JSON.parse(readFileSync(join(VECTORS, file), 'utf8')).scenario,
);

inBrowser(join(ROOT, 'wasm'));

/** What a page gets: a comment, and what each scenario comes to, as JSON. */
interface Answer {
  comment: string;
  simulations: string;
}

const expected: Answer = { comment: checkpointComment('a b'), simulations: JSON.stringify(scenarios.map(simulate)) };

/** A page of the package's own origin: nothing is there but a text that says so. */
async function opened() {
  const { page, url } = await openAt('no-page');
  return { page, entry: `${url}dist/index.js` };
}

describe('the package as it is published, in Chromium', () => {
  test('in a page, as a module', async () => {
    const { page, entry } = await opened();
    await page.addScriptTag({
      type: 'module',
      content: `
        import { checkpointComment, simulate } from ${JSON.stringify(entry)};
        const given = ${JSON.stringify(scenarios)};
        globalThis.answer = {
          comment: checkpointComment('a b'),
          simulations: JSON.stringify(given.map((one) => simulate(one))),
        };`,
    });
    await page.waitForFunction(() => 'answer' in globalThis);
    const answer = await page.evaluate(() => (globalThis as unknown as { answer: Answer }).answer);
    expect(answer).toStrictEqual(expected);
  });
  test('in a worker', async () => {
    const { page, entry } = await opened();
    const answer = await page.evaluate(
      ([url, given]) =>
        new Promise<Answer>((resolve, reject) => {
          const code = `
            import { checkpointComment, simulate } from ${JSON.stringify(url)};
            onmessage = ({ data }) => postMessage({
              comment: checkpointComment('a b'),
              simulations: JSON.stringify(data.map((one) => simulate(one))),
            });`;
          const worker = new Worker(URL.createObjectURL(new Blob([code], { type: 'text/javascript' })), {
            type: 'module',
          });
          worker.onmessage = ({ data }) => resolve(data);
          worker.onerror = (event) => reject(new Error(event.message));
          worker.postMessage(given);
        }),
      [entry, scenarios] as const,
    );
    expect(answer).toStrictEqual(expected);
  });
});
