/** P4: turns on the page: called shortly, and never two the same. */
import { expect, test } from 'vitest';
import { packBatches } from '../../simulator/src/model/pack.js';
import { turnNames } from '../../simulator/src/model/turn-names.js';
import { drop, inBrowser, test as inPage, redrawn } from './page.js';
import { SMALL } from './scenarios.js';

inBrowser();

test('turns are called by what sets them apart, and by their ids where that would not', () => {
  expect(turnNames(['turn-1', 'turn-2', 'ana'])).toEqual(['1', '2', 'ana']);
  for (const turns of [
    ['turn-1', '1'],
    ['turn-1', 'turn_1', 'x'],
    ['turn-', 'a'],
    ['turn-turn-1', 'turn-1', '1'],
  ]) {
    expect(turnNames(turns)).toEqual(turns);
    expect(
      new Set(
        turnNames(
          packBatches({ ...SMALL, batches: turns.map((turn) => ({ ...SMALL.batches[0], turn })) } as Parameters<
            typeof packBatches
          >[0]).turns,
        ),
      ).size,
    ).toBe(turns.length);
  }
});

inPage('the picture, the details and the table keep turn-1 and 1 apart', async ({ page }) => {
  const ids = ['turn-1', 'turn-1', '1', '1'];
  const batches = SMALL.batches.map((one, place) => ({ ...one, durationMs: 4_000, turn: ids[place] }));
  await redrawn(page, () => drop(page, 'turns.json', JSON.stringify({ ...SMALL, batches })));
  expect(await page.locator('.band').first().locator('.t-turn').allTextContents()).toEqual(['turn-1', '1']);
  await page.getByText('The batches as a table').click();
  const cells = page.locator('table.rows tbody tr td:nth-child(3)');
  await cells.first().waitFor();
  expect(await cells.allTextContents()).toEqual(ids);
  await page.locator('.band').first().locator('.cursor').focus();
  expect(await page.locator('.details-content .facts').textContent()).toContain('turn turn-1 ·');
  await page.keyboard.press('End');
  expect(await page.locator('.details-content .facts').textContent()).toContain('turn 1 ·');
});
