/** The page itself (P4): what it shows first, policies and driver edited, the keyboard, zoom and pan. */
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { drop, figures, inBrowser, openBuiltin, openPage, redrawn, test, watchOf } from './page.js';
import { SMALL } from './scenarios.js';

inBrowser();

const BUILTINS = [
  'Rapid turns',
  'Ordinary session',
  'Parallel calls',
  'Interleaved turns',
  'Stalled backend',
  '2,000 turns',
];

test('loads under any path, asks for nothing but its own files, and says nothing to the console', async ({ page }) => {
  for (const name of BUILTINS) {
    await openBuiltin(page, name);
    expect(await page.locator('.band').count()).toBeGreaterThan(1);
    expect((await page.locator('#headline').textContent())?.length).toBeGreaterThan(40);
  }
  const { complaints, requests } = watchOf(page);
  expect(complaints).toEqual([]);
  expect(requests.every((url) => url.startsWith('http://127.0.0.1:') && url.includes('/some/where/'))).toBe(true);
  // The document, a script, the worker, a style and an icon.
  expect(new Set(requests).size).toBe(5);
});

test('the throttle scenario says in figures what a time throttle loses', async ({ page }) => {
  const headline = (await page.locator('#headline').textContent())?.replaceAll('\u00a0', ' ');
  const [own, throttled] = await figures(page, 'Work lost at worst');
  expect(headline).toContain(`A 30 s throttle would lose up to ${throttled}`);
  expect(headline).toContain(`loses ${own} at most`);
  const [ownAcross, throttledAcross] = await figures(page, 'Takes another turn along');
  expect(Number(ownAcross)).toBe(0);
  expect(Number(throttledAcross)).toBeGreaterThan(10);
});

test('shows the figures of a scenario worked out by hand', async ({ page }) => {
  await redrawn(page, () => drop(page, 'small.json', JSON.stringify(SMALL)));
  expect(await figures(page, 'Checkpoints made')).toEqual(['2', '4']);
  expect(await figures(page, 'Waiting in all')).toEqual(['200 ms', '400 ms']);
  expect(await figures(page, 'Work lost at worst')).toEqual(['1 s', '0 s']);
  expect(await page.locator('.band').first().locator('.figure').allTextContents()).toContain('checkpoints2');
});

test('a policy is changed, added, duplicated and removed, each with its result at once', async ({ page }) => {
  await redrawn(page, () => drop(page, 'small.json', JSON.stringify(SMALL)));
  const first = page.locator('.band').first();
  await first.getByRole('button', { name: 'Edit policy A' }).click();
  await redrawn(page, () => first.getByLabel('When', { exact: true }).selectOption('never'));
  expect(await figures(page, 'Checkpoints made')).toEqual(['0', '4']);
  expect(await figures(page, 'Nothing to go back to')).toEqual(['4', '0']);
  await redrawn(page, () => first.getByLabel('When', { exact: true }).selectOption('interval'));
  await redrawn(page, () => first.getByLabel('Throttle (ms)').fill('60000'));
  expect(await figures(page, 'Checkpoints made')).toEqual(['1', '4']);
  expect(await first.locator('.band-name').textContent()).toBe('1 min throttle');

  await redrawn(page, () => first.getByRole('button', { name: 'Duplicate policy A' }).click());
  expect(await figures(page, 'Checkpoints made')).toEqual(['1', '1', '4']);
  await redrawn(page, () => page.getByRole('button', { name: 'Remove policy C' }).click());
  await redrawn(page, () => page.getByRole('button', { name: 'Remove policy B' }).click());
  expect(await figures(page, 'Checkpoints made')).toEqual(['1']);
  expect(await page.getByRole('button', { name: 'Remove policy A' }).isDisabled()).toBe(true);
  await redrawn(page, () => page.getByRole('button', { name: '+ Add a policy' }).click());
  expect(await figures(page, 'Checkpoints made')).toEqual(['1', '4']);
});

test('a number that cannot be used is said beneath its field, and changes nothing', async ({ page }) => {
  const first = page.locator('.band').first();
  const before = await figures(page, 'Checkpoints made');
  await first.getByRole('button', { name: 'Edit policy A' }).click();
  const field = first.getByLabel('Waits at most (ms)');
  await field.fill('0');
  expect(await field.getAttribute('aria-invalid')).toBe('true');
  expect(await first.locator('.field-problem:visible').textContent()).toContain('From 1 to');
  await redrawn(page, () => field.fill('1'));
  expect(await field.getAttribute('aria-invalid')).toBe('false');
  expect(await figures(page, 'Checkpoints made')).not.toEqual(before);
});

test('a field takes what a file may say: the largest numbers and the smallest', async ({ page }) => {
  const largest = {
    ...SMALL,
    seed: 2 ** 32 - 1,
    driver: { latency: { kind: 'fixed', ms: Number.MAX_SAFE_INTEGER }, failureRate: 0.07, stallRate: 0.29 },
    policies: [
      {
        kind: 'interval',
        intervalMs: Number.MAX_SAFE_INTEGER,
        timeoutMs: 2 ** 31 - 1,
        retention: { keepLast: 2 ** 32 - 1, keepWithinMs: Number.MAX_SAFE_INTEGER },
      },
      { kind: 'per_turn', retention: { keepLast: 0, keepWithinMs: 0 } },
    ],
  };
  await redrawn(page, () => drop(page, 'largest.json', JSON.stringify(largest)));
  expect(await page.locator('.field:not([hidden]) [aria-invalid="true"]').count()).toBe(0);
  // 0.07 * 100 is a little more than 7 to a computer.
  expect(await page.locator('.driver').getByLabel('Fails (%)').inputValue()).toBe('7');
  expect(await page.locator('.driver').getByLabel('Never answers (%)').inputValue()).toBe('29');

  const first = page.locator('.band').first();
  await first.getByRole('button', { name: 'Edit policy A' }).click();
  const field = first.getByLabel('Waits at most (ms)');
  await field.fill('2147483648');
  expect(await first.locator('.field-problem:visible').textContent()).toBe('From 1 to 2,147,483,647.');
  await redrawn(page, () => field.fill('2147483646'));
  expect(await page.getByRole('alert').isVisible()).toBe(false);
});

test('what takes no time at all is not cut off at the edge', async ({ page }) => {
  const batches = SMALL.batches.map((one) => ({ ...one, startMs: 0, durationMs: 0 }));
  const driver = { latency: { kind: 'fixed', ms: 0 } };
  await redrawn(page, () => drop(page, 'at-once.json', JSON.stringify({ ...SMALL, driver, batches })));
  const chart = page.locator('.band-chart').first();
  await expect.poll(() => page.locator('.t-axis').allTextContents()).toEqual(['0:00', '0:00.001']);
  await expect
    .poll(() =>
      chart.evaluate((one) => {
        const { left, right } = one.getBoundingClientRect();
        const mark = one.querySelector('.m-kept')?.getBoundingClientRect();
        return mark !== undefined && mark.left > left && mark.right < right;
      }),
    )
    .toBe(true);
});

test('the driver is edited: latency, failures, luck', async ({ page }) => {
  await redrawn(page, () => drop(page, 'small.json', JSON.stringify(SMALL)));
  await page.locator('.driver > summary').click();
  await redrawn(page, () => page.getByLabel('Takes (ms)').fill('300'));
  expect(await figures(page, 'Waiting in all')).toEqual(['600 ms', '1.2 s']);
  await redrawn(page, () => page.getByLabel('Fails (%)').fill('100'));
  expect(await figures(page, 'Ran unprotected')).toEqual(['4', '4']);
  expect(await page.locator('.driver-line').textContent()).toBe('takes 300 ms, fails 100 %');
});

test('by keyboard: along a lane, to the next policy, with the details said', async ({ page }) => {
  await redrawn(page, () => drop(page, 'small.json', JSON.stringify(SMALL)));
  await page.locator('.band').nth(0).locator('.cursor').focus();
  const details = page.locator('.details-content');
  expect(await details.textContent()).toContain('first');
  await page.keyboard.press('End');
  expect(await details.textContent()).toContain('fourth');
  expect(await details.textContent()).toContain('throws away 1 s of work of 1 earlier batch, of its own turn');
  await page.keyboard.press('ArrowLeft');
  expect(await details.textContent()).toContain('third, with a comma');
  await page.keyboard.press('ArrowDown');
  const focused = page.locator('.band').nth(1).locator('.cursor');
  expect(await focused.evaluate((element) => element === document.activeElement)).toBe(true);
  expect(await focused.getAttribute('aria-label')).toMatch(/third, with a comma 2, turn b\. Waited 100 ms/);
  expect(await focused.getAttribute('aria-posinset')).toBe('3');
  expect(await details.getAttribute('aria-live')).toBe('polite');
  await page.keyboard.press('Home');
  expect(await details.textContent()).toContain('first');
});

test('everything can be reached by Tab, the timeline first by the link that skips to it', async ({ page }) => {
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to the timeline');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  expect(await page.evaluate(() => document.activeElement?.getAttribute('aria-label'))).toBe('Earlier');
});

test('zooms and pans by buttons, wheel, drag and keys; the wheel alone scrolls the page', async ({ page }) => {
  const range = () => page.locator('.range').textContent();
  const whole = await range();
  expect(whole).toContain('everything');
  const chart = page.locator('.band-chart').first();
  await chart.hover();
  await page.mouse.wheel(0, 120);
  await page.waitForFunction(() => scrollY > 0);
  expect(await range()).toBe(whole);
  await chart.hover();
  const box = await chart.boundingBox();
  if (box === null) throw new Error('the chart is not there');

  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -400);
  await page.keyboard.up('Control');
  await expect.poll(range).not.toBe(whole);
  const zoomed = await range();
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 - 200, box.y + 30, { steps: 4 });
  await page.mouse.up();
  await expect.poll(range).not.toBe(zoomed);
  const dragged = await range();
  await page.getByRole('button', { name: 'Later' }).click();
  await expect.poll(range).not.toBe(dragged);
  await page.locator('.band').first().locator('.cursor').focus();
  await page.keyboard.press('0');
  await expect.poll(range).toBe(whole);
  await page.keyboard.press('+');
  await expect.poll(range).not.toBe(whole);
  await page.getByRole('button', { name: 'All: show everything' }).click();
  await expect.poll(range).toBe(whole);
});

test('two fingers zoom, one finger pans', async () => {
  const page = await openPage({ hasTouch: true, viewport: { width: 400, height: 800 } });
  const range = () => page.locator('.range').textContent();
  const chart = page.locator('.band-chart').first();
  await chart.scrollIntoViewIfNeeded();
  const box = await chart.boundingBox();
  if (box === null) throw new Error('the chart is not there');
  const session = await page.context().newCDPSession(page);
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', ...at: number[]) =>
    session.send('Input.dispatchTouchEvent', {
      type,
      touchPoints: at.map((x, id) => ({ x: box.x + x, y: box.y + 40, id })),
    });
  const whole = await range();
  await touch('touchStart', 150, 200);
  for (const spread of [20, 40, 60, 80]) await touch('touchMove', 150 - spread, 200 + spread);
  await touch('touchEnd');
  await expect.poll(range).not.toBe(whole);
  const zoomed = await range();
  await touch('touchStart', 300);
  for (const moved of [20, 60, 120]) await touch('touchMove', 300 - moved);
  await touch('touchEnd');
  await expect.poll(range).not.toBe(zoomed);
  expect((await range())?.split(',')[0]).toBe(zoomed?.split(',')[0]);
});

test('pointing at a mark says what it is under each policy, and a click keeps it', async ({ page }) => {
  await redrawn(page, () => drop(page, 'small.json', JSON.stringify(SMALL)));
  const box = await page.locator('.band-chart').nth(1).boundingBox();
  if (box === null) throw new Error('the chart is not there');
  const details = page.locator('.details-content');
  // The last batch lies at the very right.
  const [x, y] = [box.x + box.width * 0.96, box.y + 44];
  await page.mouse.move(x, y);
  expect(await details.locator('h3').textContent()).toContain('fourth');
  expect(await details.locator('.verdict').count()).toBe(2);
  await page.mouse.move(5, 5);
  expect(await details.textContent()).toContain('Point at a mark');
  await page.mouse.click(x, y);
  await page.mouse.move(5, 5);
  expect(await details.locator('h3').textContent()).toContain('fourth');
});

test('what is far from the window is drawn when it comes near', async () => {
  const page = await openPage({ viewport: { width: 1280, height: 400 } });
  await openBuiltin(page, '2,000 turns');
  const last = page.locator('.band-chart').last();
  const lanes = () => last.locator('.t-lane').allTextContents();
  expect(await lanes()).toEqual([]);
  await last.scrollIntoViewIfNeeded();
  await expect.poll(lanes).toEqual(['api', 'web', 'infra']);
  await page.evaluate(() => scrollTo(0, 0));
  await openBuiltin(page, 'Parallel calls');
  await page.setViewportSize({ width: 1280, height: 3_000 });
  await expect.poll(lanes).toEqual([]);
  expect(await last.locator('.m-works').count()).toBe(1);
});

test('the timeline is there as a table as well, page by page', async ({ page }) => {
  await openBuiltin(page, '2,000 turns');
  await page.getByText('The batches as a table').click();
  const rows = page.locator('table.rows tbody tr');
  await rows.first().waitFor();
  expect(await rows.count()).toBe(50);
  const first = await rows.first().textContent();
  await page.getByRole('button', { name: 'Later', exact: true }).last().click();
  expect(await rows.first().textContent()).not.toBe(first);
  expect(await page.locator('.table-bar [role="status"]').textContent()).toMatch(/^51 to 100 of [\d,]+ batches$/);
});

/** A tap on the chosen mark of the second band, which is at the lower end of the window, where the details will be. */
async function tapMark(page: Page): Promise<void> {
  const cursor = page.locator('.band').nth(1).locator('.cursor');
  await cursor.evaluate((element) => scrollBy(0, element.getBoundingClientRect().bottom - innerHeight + 20));
  const box = await cursor.boundingBox();
  if (box === null) throw new Error('there is no mark');
  expect(box.y).toBeGreaterThan(750);
  await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2);
  await page.locator('#details').waitFor({ state: 'visible' });
  const [mark, sheet] = [await cursor.boundingBox(), await page.locator('#details').boundingBox()];
  expect((mark?.y ?? 0) + (mark?.height ?? 0)).toBeLessThanOrEqual(sheet?.y ?? 0);
  expect(mark?.y).toBeGreaterThan(0);
}

// A page for each: two quick taps on one place are a double tap.
test.each<[string, (page: Page) => Promise<unknown>]>([
  ['the button', (page) => page.getByRole('button', { name: 'Close the details' }).tap()],
  ['Escape', (page) => page.keyboard.press('Escape')],
  [
    'a tap beside the marks',
    (page) =>
      page
        .locator('.band-chart')
        .nth(1)
        .tap({ position: { x: 369, y: 20 } }),
  ],
  ['a tap beside the pictures', (page) => page.locator('.band-head h3').first().tap()],
])('a tap shows the details beneath the mark, and %s takes them away', async (_, act) => {
  const page = await openPage({ hasTouch: true, isMobile: true, viewport: { width: 400, height: 850 } });
  expect(await page.locator('#details').isVisible()).toBe(false);
  await tapMark(page);
  await act(page);
  await page.locator('#details').waitFor({ state: 'hidden' });
  expect(watchOf(page).complaints).toEqual([]);
});

test('a checkpoint at the lower end of the window is moved clear of its details too', async () => {
  const page = await openPage({ hasTouch: true, isMobile: true, viewport: { width: 400, height: 850 } });
  const chart = page.locator('.band-chart').nth(1);
  await chart.evaluate((element) => scrollBy(0, element.getBoundingClientRect().top - innerHeight + 50));
  const before = await chart.boundingBox();
  const cursor = await page.locator('.band').nth(1).locator('.cursor').boundingBox();
  if (before === null || cursor === null) throw new Error('there is no picture');
  // The first checkpoint is taken for the first batch, and drawn above it.
  const top = cursor.y - before.y - 14;
  await page.touchscreen.tap(cursor.x + 3, before.y + top);
  await page.locator('#details').waitFor({ state: 'visible' });
  expect(await page.locator('.details h3').textContent()).toContain('Checkpoint 1');
  const [after, sheet] = [await chart.boundingBox(), await page.locator('#details').boundingBox()];
  expect((after?.y ?? 0) + top + 10).toBeLessThan(sheet?.y ?? 0);
});

test('Escape takes away what was chosen, but a menu first; the keyboard goes on from there', async ({ page }) => {
  await redrawn(page, () => drop(page, 'small.json', JSON.stringify(SMALL)));
  const details = page.locator('.details-content');
  const empty = () => details.textContent().then((text) => text?.startsWith('Point at a mark'));
  await page.locator('.band').first().locator('.cursor').focus();
  await page.keyboard.press('End');
  expect(await details.textContent()).toContain('fourth');
  expect(await page.getByRole('button', { name: 'Close the details' }).isVisible()).toBe(false);
  await page.locator('.menu > summary').click();
  await page.keyboard.press('Escape');
  expect(await page.locator('.menu').getAttribute('open')).toBeNull();
  expect(await empty()).toBe(false);
  await page.keyboard.press('Escape');
  expect(await empty()).toBe(true);
  expect(await page.locator('.cursor.active').count()).toBe(0);
  await page.locator('.band').first().locator('.cursor').focus();
  await page.keyboard.press('ArrowLeft');
  expect(await details.textContent()).toContain('third, with a comma');
  await page.keyboard.press('Escape');
  expect(await empty()).toBe(true);
});

test("the pointer's moment stands above the axis, also where the page has scrolled, and hides no label", async ({
  page,
}) => {
  await page.evaluate(() => scrollTo(0, 700));
  const band = page.locator('.band-chart').nth(1);
  await band.hover();
  const found = await page.evaluate(() => {
    const line = document.querySelector('.crosshair');
    const axis = document.querySelector('.axis')?.getBoundingClientRect();
    const labels = [...document.querySelectorAll('.t-axis')].map((one) => one.getBoundingClientRect().top);
    return { at: line?.getAttribute('data-at'), axis: axis?.top, height: axis?.height, label: Math.min(...labels) };
  });
  expect(found.at).toMatch(/^\d+:\d\d/);
  // Stuck to the window's upper end; its first 18 pixels are the pointer's.
  expect(found.axis).toBe(0);
  expect(found.label).toBeGreaterThanOrEqual(18);
});
