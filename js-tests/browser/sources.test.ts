/** Where scenarios come from and go to: files, text, links, what is saved (P4). Bad ones are told by line and field. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { encodeLink } from '../../simulator/src/model/link.js';
import { drawn, drop, figures, inBrowser, openBuiltin, openPage, redrawn, test, watchOf } from './page.js';
import { SMALL } from './scenarios.js';

inBrowser();

const text = JSON.stringify(SMALL);

async function saved(page: Page, name: string): Promise<{ file: string; text: string }> {
  await page.locator('.menu > summary').click();
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
  return { file: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
}

test('a file by the picker, and text that is pasted', async ({ page }) => {
  await redrawn(page, () =>
    page.locator('input[type="file"]').setInputFiles({ name: 'small.json', mimeType: '', buffer: Buffer.from(text) }),
  );
  expect(await page.locator('#scenario').textContent()).toContain('A small one');
  await page.getByRole('button', { name: 'Paste text…' }).click();
  await page.getByRole('textbox', { name: 'JSON' }).fill(text.replace('A small one', 'Pasted'));
  await redrawn(page, () => page.getByRole('button', { name: 'Open', exact: true }).click());
  expect(await page.locator('.own').textContent()).toBe('Pasted');
});

test('a file in JSON Lines, as the guard records them, whose last line was cut off', async ({ page }) => {
  const { batches, ...head } = SMALL;
  const lines = [head, ...batches].map((line) => JSON.stringify(line)).join('\n');
  await redrawn(page, () => drop(page, 'day.jsonl', `${lines}\n{"sandbox":"bo`));
  expect(await figures(page, 'Checkpoints made')).toEqual(['2', '4']);
  expect(await page.getByRole('alert').textContent()).toContain('Line 6, the last one, was cut off');
});

test('a recording without a driver gets the one that it saw, for attempts that nobody recorded', async ({ page }) => {
  const { driver: _, ...rest } = SMALL;
  const batches = rest.batches.map((one, place) =>
    place === 0 ? { ...one, attempt: { ms: 250, outcome: 'succeeded' } } : one,
  );
  await redrawn(page, () => drop(page, 'recorded.json', JSON.stringify({ ...rest, batches })));
  expect(await page.locator('.driver-line').textContent()).toBe('takes one of 1 recorded time');
  expect(await page.getByRole('alert').textContent()).toContain('the driver that the recording saw');
  expect(await figures(page, 'Waiting in all')).toEqual(['500 ms', '1 s']);
});

test('a log: a session of Claude Code, spans of OpenTelemetry; one without any tool call is told', async ({ page }) => {
  const session = readFileSync(join(import.meta.dirname, '..', 'simulate', 'fixtures', 'claude-code.jsonl'), 'utf8');
  await redrawn(page, () => drop(page, 'session.jsonl', session));
  const alert = page.getByRole('alert');
  expect(await alert.textContent()).toMatch(/Read as a session of Claude Code: \d+ tool calls/);
  expect(await page.locator('.band-name').allTextContents()).toEqual(['Once per turn', 'Before every batch']);
  // Only what was proven to change nothing is drawn so.
  expect(await page.locator('.band-chart .m-reads').count()).toBeGreaterThan(0);
  expect(await page.locator('.band-chart .m-works').count()).toBeGreaterThan(0);

  const span = {
    traceId: 'a1',
    spanId: 'b2',
    name: 'execute_tool edit',
    attributes: [{ key: 'gen_ai.operation.name', value: { stringValue: 'execute_tool' } }],
    startTimeUnixNano: '1000000000',
    endTimeUnixNano: '3000000000',
  };
  const spans = { resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] };
  await redrawn(page, () => drop(page, 'spans.json', JSON.stringify(spans)));
  expect(await alert.textContent()).toContain('Read as spans of OpenTelemetry: 1 tool call.');

  await drop(page, 'empty.json', JSON.stringify({ resourceSpans: [] }));
  await expect.poll(() => alert.textContent()).toContain('empty.json could not be opened');
});

test('a bad file is told by line and field, and the scenario that was open stays', async ({ page }) => {
  await redrawn(page, () => drop(page, 'small.json', text));
  const alert = page.getByRole('alert');
  const lines = JSON.stringify(
    { ...SMALL, batches: [SMALL.batches[0], { ...SMALL.batches[1], startMs: -5 }] },
    null,
    2,
  );
  await drop(page, 'bad.json', lines);
  await alert.waitFor();
  const line = lines.split('\n').findIndex((one) => one.includes('-5')) + 1;
  const said = await alert.textContent();
  expect(said).toContain('bad.json could not be opened');
  expect(said).toContain(`line ${line}`);
  expect(said).toContain('field batches[1].startMs');
  expect(await alert.locator('code').textContent()).toContain('"startMs": -5');
  expect(await page.locator('#scenario').textContent()).toContain('A small one');
  expect(await figures(page, 'Checkpoints made')).toEqual(['2', '4']);

  await drop(page, 'worse.json', '{"version":1,\n "batches":[\n oops');
  await expect.poll(() => alert.textContent()).toContain('worse.json');
  expect(await alert.textContent()).toContain('line 3');
  await drop(page, 'odd.json', JSON.stringify({ ...SMALL, colour: 'red' }));
  await expect.poll(() => alert.textContent()).toContain('colour');
  await page.getByRole('button', { name: 'Dismiss' }).click();
  expect(await alert.isVisible()).toBe(false);
  expect(watchOf(page).complaints).toEqual([]);
});

test("somebody else's names are texts, never markup, on the page and in what is saved", async ({ page }) => {
  const bad = '<img src=x onerror="document.title=1">';
  const batches = SMALL.batches.map((one, place) => ({ ...one, sandbox: `${bad}${place % 2}`, turn: bad, tool: bad }));
  await redrawn(page, () =>
    drop(page, 'evil.json', JSON.stringify({ ...SMALL, name: bad, description: bad, batches })),
  );
  await page.locator('.band').first().locator('.cursor').focus();
  expect(await page.locator('main img').count()).toBe(0);
  expect(await page.locator('.t-lane').first().textContent()).toBe(`${bad}0`);
  const { text: svg } = await saved(page, 'Picture (SVG)');
  expect(svg).not.toContain('<img');
  expect(watchOf(page).complaints).toEqual([]);
});

test('a link holds the scenario and every edit; opened elsewhere it shows the same', async ({ page }) => {
  await redrawn(page, () => drop(page, 'small.json', text));
  const second = page.locator('.band').nth(1);
  await second.getByRole('button', { name: 'Edit policy B' }).click();
  await redrawn(page, () => second.getByLabel('When', { exact: true }).selectOption('never'));
  await expect.poll(() => page.evaluate(() => location.hash.length)).toBeGreaterThan(100);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy link' }).click();
  await page.getByRole('alert').waitFor();
  const link = await page.evaluate(() => navigator.clipboard.readText());
  const other = await openPage({}, new URL(link).hash);
  expect(await other.locator('#scenario').textContent()).toContain('A small one');
  expect(await figures(other, 'Checkpoints made')).toEqual(['2', '0']);
  expect(await other.locator('.band-name').allTextContents()).toEqual(['Once per turn', 'Never']);
});

test('a link pasted into the address opens; where copying is not allowed the link is shown', async ({ page }) => {
  await redrawn(page, () => drop(page, 'small.json', text));
  await page.evaluate(() => Object.defineProperty(navigator, 'clipboard', { value: undefined }));
  await page.getByRole('button', { name: 'Copy link' }).click();
  const hash = new URL(await page.getByRole('textbox', { name: 'Link' }).inputValue()).hash;
  await page.getByRole('button', { name: 'Close' }).click();
  await openBuiltin(page, 'Parallel calls');
  await expect.poll(() => page.evaluate(() => location.hash)).not.toBe(hash);
  await redrawn(page, () => page.evaluate((to) => location.assign(to), hash));
  expect(await page.locator('#scenario').textContent()).toContain('A small one');
});

test('the link of a built-in scenario is short; a damaged one is told, and the page opens all the same', async ({
  page,
}) => {
  await openBuiltin(page, '2,000 turns');
  await expect.poll(() => page.evaluate(() => location.hash.length)).toBeGreaterThan(10);
  await expect.poll(() => page.evaluate(() => location.hash.length)).toBeLessThan(600);
  const damaged = await openPage({}, '#s=this-is-not-one');
  expect(await damaged.getByRole('alert').textContent()).toContain('The link is damaged');
  expect(await damaged.getByRole('alert').textContent()).toContain('“Rapid turns” is shown instead.');
  expect(await damaged.locator('.band').count()).toBeGreaterThan(1);
});

test("a link that cannot be opened leaves one's own file and edits open, and in the address", async ({ page }) => {
  await redrawn(page, () => drop(page, 'small.json', text));
  const second = page.locator('.band').nth(1);
  await second.getByRole('button', { name: 'Edit policy B' }).click();
  await redrawn(page, () => second.getByLabel('When', { exact: true }).selectOption('never'));
  const hash = () => page.evaluate(() => location.hash);
  const alert = page.getByRole('alert');
  // The link of what is open now, and no earlier one.
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy link' }).click();
  await expect.poll(() => alert.textContent()).toContain('Copied');
  const own = new URL(await page.evaluate(() => navigator.clipboard.readText())).hash;
  expect(await hash()).toBe(own);

  await page.evaluate(() => location.assign('#s=bad'));
  await expect.poll(() => alert.textContent()).toContain('The link is damaged');
  expect(await alert.textContent()).toContain('The scenario that was open stays.');
  await expect.poll(hash).toBe(own);

  const wrong = { scenario: SMALL, setup: { seed: 0, driver: { failureRate: 7 }, policies: [{ kind: 'never' }] } };
  const fragment = await encodeLink(wrong as unknown as Parameters<typeof encodeLink>[0]);
  await page.evaluate((to) => location.assign(to), `#${fragment}`);
  await expect.poll(() => alert.textContent()).toContain('field driver.failureRate');
  // Nobody sees the text that a link holds.
  expect(await alert.textContent()).not.toMatch(/line \d|column \d/);
  await expect.poll(hash).toBe(own);

  await page.reload();
  await drawn(page, 0);
  expect(await page.locator('#scenario').textContent()).toContain('A small one');
  expect(await figures(page, 'Checkpoints made')).toEqual(['2', '0']);
});

test('saves the picture, the simulation, the batches and the scenario', async ({ page }) => {
  await redrawn(page, () => drop(page, 'small.json', text));

  const svg = await saved(page, 'Picture (SVG)');
  expect(svg.file).toBe('a-small-one.svg');
  const picture = await page.evaluate((source) => {
    const parsed = new DOMParser().parseFromString(source, 'image/svg+xml');
    return {
      root: parsed.documentElement.nodeName,
      texts: [...parsed.querySelectorAll('text')].map((one) => one.textContent),
    };
  }, svg.text);
  expect(picture.root).toBe('svg');
  expect(picture.texts).toContain('A  Once per turn');
  expect(picture.texts).toContain('B  Before every batch');
  expect(svg.text).not.toMatch(/var\(|light-dark|https?:\/\/(?!www\.w3\.org\/2000\/svg)/);

  const json = JSON.parse((await saved(page, 'Simulation (JSON)')).text);
  expect(json.simulation.summaries.map((one: { checkpoints: number }) => one.checkpoints)).toEqual([2, 4]);
  expect(json.simulation.trace.filter((one: { type: string }) => one.type === 'batch')).toHaveLength(8);
  expect(json.scenario.batches).toEqual(SMALL.batches);

  const csv = (await saved(page, 'Batches (CSV)')).text.split('\r\n');
  expect(csv).toHaveLength(1 + 8 + 1);
  expect(csv[0]?.split(',').slice(0, 4)).toEqual(['\ufeffpolicy', 'policy_name', 'batch', 'sandbox']);
  expect(csv[3]).toContain('"third, with a comma"');
  // A spreadsheet must not run it.
  expect(csv[2]).toContain(`"'=HYPERLINK(""x"")"`);

  const again = (await saved(page, 'Scenario (JSON)')).text;
  await redrawn(page, () => drop(page, 'again.json', again));
  expect(await figures(page, 'Checkpoints made')).toEqual(['2', '4']);
});

for (const width of [1280, 400]) {
  test(`the headline of the saved picture is all there, at ${width} px`, async () => {
    const page = await openPage({ viewport: { width, height: 900 } });
    await openBuiltin(page, 'Interleaved turns');
    const { text: svg } = await saved(page, 'Picture (SVG)');
    const other = await page.context().newPage();
    await other.setContent(svg);
    const { lines, edge, furthest } = await other.evaluate(() => {
      const heads = [...document.querySelectorAll('.f-head')];
      return {
        lines: heads.map((one) => one.textContent),
        edge: document.querySelector('svg')?.getBoundingClientRect().right ?? 0,
        furthest: Math.max(...heads.map((one) => one.getBoundingClientRect().right)),
      };
    });
    expect(lines.join(' ')).toBe(await page.locator('#headline').textContent());
    expect(furthest).toBeLessThanOrEqual(edge - 20);
  });
  test(`a long name stays inside of the saved picture, and clear of the figures, at ${width} px`, async () => {
    const page = await openPage({ viewport: { width, height: 900 } });
    const long = `a policy with ${'a very long '.repeat(20)}name`;
    const policies = [
      { kind: 'per_turn', name: long },
      { kind: 'never', name: '長い名前'.repeat(40) },
    ];
    await redrawn(page, () =>
      drop(page, 'long.json', JSON.stringify({ ...SMALL, name: 'W'.repeat(200), description: '', policies })),
    );
    const { text: svg } = await saved(page, 'Picture (SVG)');
    const other = await page.context().newPage();
    await other.setContent(svg);
    const { texts, whole } = await other.evaluate(() => {
      const boxOf = (one: Element) => {
        const { left, right, top, bottom } = one.getBoundingClientRect();
        return { left, right, top, bottom };
      };
      return {
        whole: boxOf(document.querySelector('svg') ?? document.body),
        texts: [...document.querySelectorAll('.f-title, .f-head, .f-band, .f-figures')].map((one) => ({
          kind: one.getAttribute('class'),
          full: one.querySelector('title')?.textContent,
          ...boxOf(one),
        })),
      };
    });
    for (const one of texts) expect(one.right).toBeLessThanOrEqual(whole.right - 20);
    const names = texts.filter(({ kind }) => kind === 'f-band');
    expect(names.map(({ full }) => full)).toEqual([`A  ${long}`, `B  ${'長い名前'.repeat(40)}`]);
    const over = names.flatMap((name) =>
      texts.filter(
        (one) =>
          one.kind === 'f-figures' && one.left < name.right && one.top < name.bottom - 3 && one.bottom > name.top,
      ),
    );
    expect(over).toEqual([]);
    // The figures are never shortened.
    expect(svg).toContain('unprotected</text>');
  });
}
