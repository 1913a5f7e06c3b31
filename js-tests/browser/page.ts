/** What the tests of the simulator's page share: its static files on loopback, a Chromium, and fresh pages in it. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContextOptions, type Page, chromium as playwright } from 'playwright-core';
import { afterAll, test as base, beforeAll, onTestFinished } from 'vitest';
import { chromium, NO_CHROMIUM } from '../../scripts/lib/chromium.mjs';
import { serve } from '../../scripts/lib/serve.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
const DIST = join(ROOT, 'simulator', 'dist');
const SHOTS = join(ROOT, 'target', 'screenshots');
/** Under a path of its own, as on a server with other things on it. */
const UNDER = '/some/where/';

/** Why these tests cannot run here; `undefined`: they can. */
const missing = chromium() === undefined ? NO_CHROMIUM : undefined;

/** A test in the browser. */
export const test = base.extend<{ page: Page }>({
  // biome-ignore lint/correctness/noEmptyPattern: Vitest wants a pattern
  page: async ({}, use) => {
    await use(await openPage());
  },
});

test.beforeEach(({ skip }) => {
  if (missing !== undefined) skip(missing);
});

let browser: Browser | undefined;
let server: Awaited<ReturnType<typeof serve>> | undefined;

/**
 * Starts the server and the browser before the tests of a file, and ends them after.
 *
 * @param root the directory that is served: the simulator's page, if none is given
 */
export function inBrowser(root: string = DIST): void {
  beforeAll(async () => {
    if (missing !== undefined) return;
    if (root === DIST && !existsSync(join(DIST, 'index.html')))
      throw new Error('the page is not built: npm run build -w turnback-simulator');
    server = await serve(root, { under: UNDER });
    // Without its sandbox: Chromium refuses to run as root otherwise, and shows only our own page.
    browser = await playwright.launch({
      executablePath: chromium() ?? '',
      args: ['--no-sandbox', '--disable-dev-shm-usage'],
    });
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });
}

/** What an opened page must never do. */
export interface Watched {
  /** Errors, and whatever the console was told. */
  readonly complaints: string[];
  /** Addresses that were asked for. */
  readonly requests: string[];
}

const watched = new WeakMap<Page, Watched>();
export const watchOf = (page: Page): Watched => watched.get(page) ?? { complaints: [], requests: [] };

/** Opens the page and waits until its first picture is drawn. */
export async function openPage(options: BrowserContextOptions = {}, hash = ''): Promise<Page> {
  const { page } = await openAt(hash, options);
  await drawn(page, 0);
  return page;
}

/** Opens an address below what is served; `url` is that of the whole. */
export async function openAt(path: string, options: BrowserContextOptions = {}): Promise<{ page: Page; url: string }> {
  if (browser === undefined || server === undefined) throw new Error('inBrowser() was not called');
  const context = await browser.newContext({
    viewport: { width: 1280, height: 900 },
    reducedMotion: 'reduce',
    ...options,
  });
  onTestFinished(() => context.close());
  // A slow machine is no failure.
  context.setDefaultTimeout(90_000);
  const page = await context.newPage();
  const watch: Watched = { complaints: [], requests: [] };
  watched.set(page, watch);
  page.on('pageerror', (error) => watch.complaints.push(String(error)));
  page.on('console', (message) => watch.complaints.push(message.text()));
  page.on('request', (request) => watch.requests.push(request.url()));
  await page.goto(`${server.url}${path}`);
  return { page, url: server.url };
}

/** How many pictures the page has drawn. */
export const drawings = async (page: Page): Promise<number> =>
  Number((await page.locator('html').getAttribute('data-drawn')) ?? 0);

/** Waits for a picture later than that. */
export async function drawn(page: Page, after: number): Promise<void> {
  await page.waitForFunction((count) => Number(document.documentElement.getAttribute('data-drawn')) > count, after);
}

/** Does something, and waits for the picture that it leads to. */
export async function redrawn(page: Page, act: () => Promise<unknown>): Promise<void> {
  const before = await drawings(page);
  await act();
  await drawn(page, before);
}

/** Opens a built-in scenario. */
export const openBuiltin = (page: Page, name: string): Promise<void> =>
  redrawn(page, () => page.getByRole('button', { name, exact: true }).click());

/** Drops a file on the page. */
export async function drop(page: Page, name: string, text: string): Promise<void> {
  const data = await page.evaluateHandle(
    ([file, content]) => {
      const transfer = new DataTransfer();
      transfer.items.add(new File([content ?? ''], file ?? ''));
      return transfer;
    },
    [name, text],
  );
  await page.dispatchEvent('body', 'dragenter', { dataTransfer: data });
  await page.dispatchEvent('body', 'drop', { dataTransfer: data });
}

/** Keeps a picture of the page, for people: target/screenshots. */
export async function keepShot(page: Page, name: string, fullPage = false): Promise<void> {
  mkdirSync(SHOTS, { recursive: true });
  const size = page.viewportSize();
  if (fullPage && size !== null) {
    // What is far from the window is drawn only when it comes near.
    await page.setViewportSize({ ...size, height: await page.evaluate(() => document.documentElement.scrollHeight) });
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }
  await page.screenshot({ path: join(SHOTS, `${name}.png`), fullPage });
  if (size !== null) await page.setViewportSize(size);
}

/** A row of the table "Side by side", by its label: the figures of each policy. */
export async function figures(page: Page, label: string): Promise<string[]> {
  const row = page.locator('table.summary tr').filter({ has: page.locator('th[scope="row"]', { hasText: label }) });
  return row.locator('td .value').allTextContents();
}
