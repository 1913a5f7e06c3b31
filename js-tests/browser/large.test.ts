/** Long traces (P4): 100,000 batches are shown, and 2,000 turns are drawn with few elements. Times are printed, never asserted. */
import { expect } from 'vitest';
import { drop, figures, inBrowser, openBuiltin, redrawn, test, watchOf } from './page.js';
import { many } from './scenarios.js';

inBrowser();

test('100,000 batches', async ({ page }) => {
  const text = JSON.stringify(many(100_000));
  const from = performance.now();
  await redrawn(page, () => drop(page, 'many.json', text));
  const opened = performance.now() - from;
  expect(await figures(page, 'Checkpoints made')).toHaveLength(1);
  const took = await page.locator('#took').textContent();
  expect(took).toContain('100,000 batches');
  const edit = performance.now();
  await page.locator('.driver > summary').click();
  await redrawn(page, () => page.getByLabel('Takes (ms)').fill('60'));
  console.log(
    `${took} Opened and drawn in ${Math.round(opened)} ms, an edit drawn in ${Math.round(performance.now() - edit)} ms.`,
  );
  // Edits that overtake one another: the latest wins. A turn has a checkpoint in each of its two sandboxes.
  for (const ms of ['61', '70', '80']) await page.getByLabel('Takes (ms)').fill(ms);
  await expect.poll(() => figures(page, 'Waiting in all')).toEqual(['53 min 20 s']);
  await page.getByRole('button', { name: 'Copy link' }).click();
  expect(await page.getByRole('alert').textContent()).toContain('too long for a link');
  expect(watchOf(page).complaints).toEqual([]);
});

test('2,000 turns are drawn with few elements, and moved without a pause', async ({ page }) => {
  await openBuiltin(page, '2,000 turns');
  expect(await page.locator('.band-chart *').count()).toBeLessThan(400);
  const frames = await page.evaluate(async () => {
    const option = document.querySelector<HTMLElement>('.cursor');
    const press = (key: string, shiftKey = false) =>
      option?.dispatchEvent(new KeyboardEvent('keydown', { key, shiftKey, bubbles: true, cancelable: true }));
    const next = () => new Promise<number>((done) => requestAnimationFrame(done));
    for (let step = 0; step < 4; step++) press('+');
    const times: number[] = [];
    for (let step = 0; step < 30; step++) {
      const begun = performance.now();
      press('ArrowRight', true);
      await next();
      await next();
      times.push(performance.now() - begun);
    }
    return times.sort((a, b) => a - b);
  });
  console.log(
    `a step of a pan takes ${Math.round(frames[15] ?? 0)} ms (median), ${Math.round(frames.at(-1) ?? 0)} ms at most`,
  );
  expect(frames).toHaveLength(30);
});
