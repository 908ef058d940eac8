import axe, { type AxeResults } from 'axe-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchBrowser, mayLackBrowser } from '../support/browser.ts';
import { serveInPieces } from '../support/in-pieces.ts';
import { type RunningSite, serveStarterSite } from '../support/starter-site.ts';

const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 844 };
const SMALLEST = { width: 320, height: 640 };
/** A path without a page. */
const MISSING = '/servises/rewireing';
/** Counts layout shifts on the page; evaluated in the browser. */
const LAYOUT_SHIFTS = `new Promise((resolve) => {
  let shifts = 0;
  const observer = new PerformanceObserver((list) => { shifts += list.getEntries().length; });
  observer.observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => resolve(shifts), 50);
})`;

describe.skipIf(mayLackBrowser())('in a real browser', () => {
  let site: RunningSite;
  let browser: Browser;
  let paths: string[];
  beforeAll(async () => {
    [site, browser] = await Promise.all([serveStarterSite(), launchBrowser()]);
    paths = [...site.content.pages.map(({ path }) => path), MISSING];
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await site?.app.close();
  });

  /** Opens every page in turn, and passes it to `look`. */
  async function onEveryPage(context: BrowserContext, look: (page: Page, path: string) => Promise<void>) {
    const page = await context.newPage();
    for (const path of paths) {
      await page.goto(`${site.url}${path}`);
      await look(page, path);
    }
    await context.close();
  }

  // Each page in both colour schemes and both layouts; all four pairs would find no more in twice the time.
  test.each([
    { colorScheme: 'light', viewport: DESKTOP, name: 'desktop' },
    { colorScheme: 'dark', viewport: PHONE, name: 'phone' },
  ] as const)(
    'axe finds no violation on any page, $colorScheme on a $name',
    async ({ colorScheme, viewport }) => {
      const context = await browser.newContext({ colorScheme, viewport });
      await onEveryPage(context, async (page, path) => {
        // Evaluated, because the page's CSP allows no scripts; all rules, including best practices.
        await page.evaluate(axe.source);
        const { violations, passes } = await page.evaluate<AxeResults>('axe.run()');
        const faults = violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes[0]?.target})`);
        expect.soft(faults, path).toEqual([]);
        expect.soft(passes.length, path).toBeGreaterThan(15);
      });
    },
    120_000,
  );

  test('no page is wider than the smallest phone, and nothing on it shifts while it loads', async () => {
    const context = await browser.newContext({ viewport: SMALLEST });
    await onEveryPage(context, async (page, path) => {
      const width = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect.soft(width, path).toBeLessThanOrEqual(SMALLEST.width);
      expect.soft(await page.evaluate(LAYOUT_SHIFTS), path).toBe(0);
    });
  }, 60_000);

  test.each([PHONE, DESKTOP])(
    'nothing shifts on a page that arrives in pieces, at %o',
    async (viewport) => {
      const slow = await serveInPieces(site.url, /(?=<(?!meta|link|path|td|th\b)[a-z])/);
      const context = await browser.newContext({ viewport });
      const page = await context.newPage();
      for (const path of ['/', '/emergency']) {
        await page.goto(`${slow.url}${path}`);
        expect.soft(await page.evaluate(LAYOUT_SHIFTS), path).toBe(0);
      }
      expect(slow.pieces()).toBeGreaterThan(200);
      await context.close();
      await slow.close();
    },
    120_000,
  );

  test('no page makes requests to other hosts, violates its CSP or has missing files', async () => {
    const context = await browser.newContext();
    const faults: string[] = [];
    await context.route('**', async (route) => {
      const url = route.request().url();
      if (!url.startsWith(`${site.url}/`)) faults.push(`asked ${url}`);
      await route.continue();
    });
    context.on('console', (message) => faults.push(message.text()));
    context.on('response', (answer) => {
      const isMissing = new URL(answer.url()).pathname === MISSING;
      if (answer.status() >= 400 && !isMissing) faults.push(`${answer.status()} ${answer.url()}`);
    });
    paths = paths.filter((path) => path !== MISSING);
    await onEveryPage(context, async () => {});
    expect(faults).toEqual([]);
  }, 60_000);

  test('on a phone, the menu opens by its button and its links work, without scripts', async () => {
    const context = await browser.newContext({ viewport: PHONE, javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`${site.url}/`);
    const pricing = page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Pricing' });
    expect(await pricing.isVisible()).toBe(false);
    await page.getByRole('button', { name: 'Menu' }).click();
    await pricing.click();
    await page.waitForURL(`${site.url}/pricing`);
    await context.close();
  });

  test('the copy button copies code under the CSP of pages', async () => {
    const context = await browser.newContext({
      viewport: PHONE,
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const page = await context.newPage();
    await page.goto(`${site.url}/developers/quick-start`);
    const code = await page.locator('pre').first().textContent();
    const button = page.getByRole('button', { name: 'Copy' }).first();
    await button.click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(code);
    await context.close();
  });

  test('at 320 px, the header is one line and has a link to call', async () => {
    const context = await browser.newContext({ viewport: { width: 320, height: 640 } });
    const page = await context.newPage();
    await page.goto(`${site.url}/`);
    const header = await page.locator('.site-header').boundingBox();
    expect(header?.height).toBeLessThan(72);
    const call = page.locator('.site-header').getByRole('link', { name: /^Call \d/ });
    expect(await call.isVisible()).toBe(true);
    expect(await call.getAttribute('href')).toMatch(/^tel:\d+$/);
    await context.close();
  });

  test('the first Tab stop is a link that skips the header', async () => {
    const context = await browser.newContext({ viewport: DESKTOP });
    const page = await context.newPage();
    await page.goto(`${site.url}/pricing`);
    await page.keyboard.press('Tab');
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to the content');
    await page.keyboard.press('Enter');
    await page.waitForURL(`${site.url}/pricing#main`);
    await context.close();
  });
});
