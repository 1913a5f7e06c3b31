/** P4: what a rollback costs at worst is one figure in bands, table and saved picture, and what is drawn agrees with it. */
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import { shareOf } from '../../simulator/src/ui/summary-table.js';
import { drop, figures, inBrowser, redrawn, test } from './page.js';
import { SMALL } from './scenarios.js';

inBrowser();

/** Two of four have nothing to go back to under the first policy, all of them under the second. */
const FAILING = {
  ...SMALL,
  policies: [{ kind: 'per_turn' }, { kind: 'never' }, { kind: 'every_batch', name: 'Mine' }],
  driver: { latency: { kind: 'fixed', ms: 100 }, recorded: true },
  batches: SMALL.batches.map((one, place) => ({
    ...one,
    ...(place < 2 && { attempt: { ms: 10, outcome: 'failed' } }),
  })),
};

test('everything is the worst that can be lost, and never the best', async ({ page }) => {
  const policies = [{ kind: 'per_turn' }, { kind: 'interval', intervalMs: 60_000 }, { kind: 'never' }];
  await redrawn(page, () => drop(page, 'never.json', JSON.stringify({ ...SMALL, policies })));
  expect(await figures(page, 'Earlier work lost at worst')).toEqual(['1 s', '3 s', 'everything, in 4 batches']);
  expect(await figures(page, 'Earlier work lost on average')).toEqual(['500 ms', '1.5 s', 'everything']);
  expect(await figures(page, 'Takes another turn along')).toEqual(['0', '2', 'everything']);
  for (const label of ['Earlier work lost at worst', 'Earlier work lost on average', 'Takes another turn along']) {
    const row = page.locator('table.summary tr').filter({ hasText: label });
    const classes = await row.locator('td').evaluateAll((cells) => cells.map((cell) => cell.className));
    expect(classes).toEqual(['best', '', 'worst']);
  }
});

test('where only some batches have nothing to go back to it is everything as well: bands, table, picture', async ({
  page,
}) => {
  await redrawn(page, () => drop(page, 'failing.json', JSON.stringify(FAILING)));
  const all = ['everything, in 2 batches', 'everything, in 4 batches', 'everything, in 2 batches'];
  expect(await figures(page, 'Earlier work lost at worst')).toEqual(all);
  expect(await figures(page, 'Earlier work lost on average')).toEqual([
    '500 ms, or everything',
    'everything',
    'everything',
  ]);
  const bands = page.locator('.band .figure:first-child');
  expect(await bands.locator('dd').allTextContents()).toEqual(['everything', 'everything', 'everything']);
  expect(await bands.locator('dt').first().textContent()).toBe('lost at worst, in 2 batches');
  const saved = page.waitForEvent('download');
  await page.getByText('Save', { exact: true }).click();
  await page.getByRole('button', { name: 'Picture (SVG)' }).click();
  const svg = readFileSync(await (await saved).path(), 'utf8');
  expect(svg.match(/everything lost at worst, in \d batches/g)).toHaveLength(3);
});

test('the dot, the band and the legend speak of earlier work; the curve has the running batch in it', async ({
  page,
}) => {
  await redrawn(page, () => drop(page, 'small.json', JSON.stringify(SMALL)));
  const band = page.locator('.band').first();
  expect(await band.locator('.t-peak').textContent()).toBe('1 s of earlier work');
  expect(await band.locator('.figure').first().textContent()).toBe('earlier work lost at worst1 s');
  const legend = page.locator('.legend-item');
  expect(await legend.filter({ hasText: 'Work at risk' }).textContent()).toContain('with what is running itself');
  expect(await legend.filter({ hasText: 'Earlier work lost at worst' }).textContent()).toContain('does not count');
});

test('beside one that is everything, what can be measured has a short bar', () => {
  expect([1, 2].map((value) => shareOf(value, [1, 2]))).toEqual([0.5, 1]);
  const values = [1, 2, Number.POSITIVE_INFINITY];
  expect(values.map((value) => shareOf(value, values))).toEqual([0.25, 0.5, 1]);
  expect(shareOf(0, [0, Number.POSITIVE_INFINITY])).toBe(0);
});
