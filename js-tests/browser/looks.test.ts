/** Light and dark, wide and narrow, and what axe says of each (P4). Screenshots stay in target/screenshots. */
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { drop, inBrowser, keepShot, openBuiltin, openPage, redrawn, test, watchOf } from './page.js';

inBrowser();

/** What axe finds, a line each. All of its rules count, those it calls best practice as well. */
async function violations(page: Page): Promise<string[]> {
  // Through the debugger: the page's own policy allows no foreign script.
  await page.evaluate(axe.source);
  const result = (await page.evaluate(
    'axe.run(document, { resultTypes: ["violations", "passes"] })',
  )) as unknown as axe.AxeResults;
  expect(result.passes.length).toBeGreaterThan(15);
  return result.violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.target.join(' ')} ${node.failureSummary ?? ''}`),
  );
}

/** Opens whatever can be opened, so that axe sees it too. */
async function unfold(page: Page): Promise<void> {
  await page.locator('.driver > summary').click();
  await page.getByRole('button', { name: 'Edit policy A' }).click();
  await page.getByText('The batches as a table').click();
  await page.locator('.band').first().locator('.cursor').focus();
}

for (const colorScheme of ['light', 'dark'] as const) {
  for (const [name, width] of [
    ['wide', 1440],
    ['medium', 1024],
    ['narrow', 400],
  ] as const) {
    test(`axe finds nothing: ${colorScheme}, ${name}`, async () => {
      const page = await openPage({ colorScheme, viewport: { width, height: 900 } });
      await openBuiltin(page, 'Stalled backend');
      await unfold(page);
      expect(await violations(page)).toEqual([]);
      await keepShot(page, `${colorScheme}-${name}-open`, true);
    });
  }
}

test('axe finds nothing with an error shown, and with the dialog open', async ({ page }) => {
  await drop(page, 'bad.json', '{"version":1,"batches":[{"sandbox":7}]}');
  await page.getByRole('alert').waitFor();
  expect(await violations(page)).toEqual([]);
  await keepShot(page, 'error');
  await page.getByRole('button', { name: 'Paste text…' }).click();
  expect(await violations(page)).toEqual([]);
  await keepShot(page, 'dialog');
});

test('at 400 px nothing is wider than the page', async () => {
  const page = await openPage({ viewport: { width: 400, height: 860 } });
  for (const name of ['Rapid turns', 'Stalled backend', '2,000 turns']) {
    await openBuiltin(page, name);
    await unfoldOnce(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(400);
    await keepShot(page, `narrow-${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`, true);
  }
  expect(watchOf(page).complaints).toEqual([]);
});

test('at 320 px, a window of 1280 px at 400 %, nothing lies over another in the head', async () => {
  const page = await openPage({ viewport: { width: 320, height: 640 } });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  const [name, acts] = [await page.locator('.top h1').boundingBox(), await page.locator('.top-acts').boundingBox()];
  if (name === null || acts === null) throw new Error('the head is not shown');
  expect(acts.y >= name.y + name.height || acts.x >= name.x + name.width).toBe(true);
  await keepShot(page, 'at-320', true);
});

test("in the system's own colours the tab that is open is the only one with a line, and the axis has their ground", async () => {
  const page = await openPage({ forcedColors: 'active' });
  const lines = await page
    .locator('.tab')
    .evaluateAll((tabs) => tabs.map((tab) => getComputedStyle(tab).borderBottomStyle));
  expect(lines.filter((one) => one !== 'none')).toHaveLength(1);
  const ground = await page.locator('.axis').evaluate((axis) => getComputedStyle(axis).backgroundColor);
  expect(ground).toBe('rgb(255, 255, 255)');
  await keepShot(page, 'forced-colours', true);
});

test('a figure and its mark are two words to who hears them', async ({ page }) => {
  const best = page.locator('table.summary td.best').first();
  expect(await best.textContent()).toMatch(/^\S+ \S+ best$/);
});

/** Names without a space, as long as anybody may write them: scenario, policies, sandboxes, turns, tools. */
const LONG = {
  version: 1,
  name: 's'.repeat(300),
  policies: [
    { kind: 'per_turn', name: 'W'.repeat(120) },
    { kind: 'every_batch', name: 'of many words '.repeat(12) },
  ],
  batches: Array.from({ length: 12 }, (_, place) => ({
    sandbox: (place % 2 === 0 ? 'W' : 'x').repeat(180),
    turn: `${Math.floor(place / 4)}${'漢'.repeat(60)}`,
    startMs: place * 3_000,
    durationMs: 2_000,
    kind: 'destructive',
    tool: 'M'.repeat(150),
  })),
};

for (const width of [400, 1280, 1920]) {
  test(`at ${width} px no name is wider than its place`, async () => {
    const page = await openPage({ viewport: { width, height: 900 } });
    await redrawn(page, () => drop(page, 'long.json', JSON.stringify(LONG)));
    await page.locator('.band').first().locator('.cursor').focus();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    const over = await page.locator('.band').evaluateAll((bands) =>
      bands.flatMap((band) => {
        const { left, right } = band.getBoundingClientRect();
        return [...band.querySelectorAll('h3 *, .figures, .band-acts, .t-lane, .t-turn')]
          .map((element) => ({ what: element.className, place: element.getBoundingClientRect() }))
          .filter(({ place }) => place.width > 0 && (place.left < left - 1 || place.right > right + 1));
      }),
    );
    expect(over).toEqual([]);
    expect(await page.locator('.t-lane title').count()).toBe(4);
    await keepShot(page, `long-names-${width}`, true);
  });
}

test('a scenario without batches says so and shows nothing else, and the next one is all there', async ({ page }) => {
  await redrawn(page, () => drop(page, 'none.json', '{"version":1,"name":"None","batches":[]}'));
  expect(await page.locator('#headline').textContent()).toContain('no batches');
  for (const id of ['driver', 'timeline', 'summary', 'rows', 'side'])
    expect(await page.locator(`#${id}`).isVisible()).toBe(false);
  expect(await violations(page)).toEqual([]);
  await keepShot(page, 'no-batches', true);
  await openBuiltin(page, 'Rapid turns');
  await page.waitForFunction(
    () => (document.querySelector('.band-chart .m-works')?.getBoundingClientRect().width ?? 0) > 500,
  );
  expect(await page.locator('#side').isVisible()).toBe(true);
});

async function unfoldOnce(page: Page): Promise<void> {
  const edit = page.getByRole('button', { name: 'Edit policy A' });
  if ((await edit.getAttribute('aria-expanded')) === 'false') await edit.click();
}

test('dark where the system wishes it, and where the reader says so; the choice is kept', async () => {
  const page = await openPage({ colorScheme: 'dark' });
  const ground = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const dark = await ground();
  const control = page.getByRole('button', { name: 'Dark colours' });
  expect(await control.getAttribute('aria-pressed')).toBe('true');
  await control.click();
  const light = await ground();
  expect(light).not.toBe(dark);
  await page.reload();
  expect(await ground()).toBe(light);
  await page.getByRole('button', { name: 'Dark colours' }).click();
  expect(await ground()).toBe(dark);
});

for (const colorScheme of ['light', 'dark'] as const) {
  test(`screenshots of each scenario, ${colorScheme}`, async () => {
    const page = await openPage({ colorScheme, viewport: { width: 1440, height: 950 } });
    for (const name of ['Rapid turns', 'Ordinary session', 'Parallel calls', 'Interleaved turns', '2,000 turns']) {
      await openBuiltin(page, name);
      await keepShot(page, `${colorScheme}-${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`);
    }
    expect(watchOf(page).complaints).toEqual([]);
  });
}

for (const [width, policies] of [
  [400, 6],
  [1280, 8],
] as const) {
  test(`side by side at ${width} px, ${policies} policies: no figure over another, and the table scrolls, not the page`, async () => {
    const page = await openPage({ viewport: { width, height: 860 } });
    for (let more = 3; more < policies; more++)
      await redrawn(page, () => page.getByRole('button', { name: 'Duplicate policy A' }).click());
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
    const region = page.getByRole('region', { name: 'The figures of each policy' });
    const over = await region.evaluate((element) => {
      const rows = [...element.querySelectorAll('tr:not(.group)')];
      return rows.flatMap((row) => {
        const cells = [...row.children].map((cell) => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          return { text: cell.textContent, cell: cell.getBoundingClientRect(), inner: range.getBoundingClientRect() };
        });
        return cells
          .filter(({ cell, inner }) => inner.width > 0 && inner.right > cell.right + 1)
          .map(({ text }) => text);
      });
    });
    expect(over).toEqual([]);
    await region.focus();
    await region.evaluate((element) => element.scrollTo(1e6, 0));
    const { scrolled, first, left } = await region.evaluate((element) => ({
      scrolled: element.scrollLeft,
      left: element.getBoundingClientRect().left,
      first: element.querySelector('th[scope="row"]')?.getBoundingClientRect().left,
    }));
    expect(scrolled).toBeGreaterThan(20);
    expect(first).toBe(left);
    await region.scrollIntoViewIfNeeded();
    await keepShot(page, `side-by-side-${width}-${policies}`, true);
  });
}
