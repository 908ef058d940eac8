import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mayLackBrowser } from '../support/browser.ts';
import { startWalk, type Walk } from '../support/dashboard-walk.ts';

const POSTS = 50;
const LEADS = 5;
const TOOLS = ['CRM', 'help desk', 'booking system', 'payroll service', 'shared inbox'];
const TOWNS = ['Leeds', 'Lyon', 'Porto', 'Graz', 'Bergen', 'Malmo', 'Turin', 'Ghent', 'Basel', 'Cork'];

/** The key for each of the week's signals: five become leads, five are snoozed, the rest are judged. */
const PRESSED = Array.from({ length: POSTS }, (_, at) => (at % 10 === 0 ? 'a' : ('snny'[at % 4] ?? 'n')));

describe.skipIf(mayLackBrowser())('the inbox in a real browser, against a real process', () => {
  let walk: Walk;
  let page: Page;

  beforeAll(async () => {
    walk = await startWalk();
    const signals = TOOLS.flatMap((tool, at) =>
      TOWNS.map((town, number) => ({
        platform: { name: 'reddit', post_url: `https://www.reddit.com/r/${town}/comments/${at}${number}/x/` },
        text: `${town}: which ${tool} should we buy?\n\nLooking for a ${tool} for our team of ${at + 5} in ${town}. Budget is approved and we need it this month.`,
        external_id: `p${at}${number}`,
        prospect: { name: `Person ${at}${number}` },
      })),
    );
    await walk.call('POST', '/v1/signals/batch', { signals });
    page = await walk.comeIn(walk.setupUrl);
  }, 180_000);
  afterAll(() => walk?.close());

  const current = () => page.locator('[data-row][data-current]').getAttribute('data-key');
  const counts = async () => {
    const said = await page.locator('.tabs a').allInnerTexts();
    return Object.fromEntries(said.map((text) => [text.replace(/\s*\S+$/, ''), text.split(/\s+/).at(-1)]));
  };

  test("a week's work can be done using only the keyboard: fifty signals are triaged, five become leads, one is won", async () => {
    await page.goto(`${walk.server.url}/dashboard/signals`);
    await page.locator('[data-inbox-pane] h1').waitFor();
    expect(await counts()).toMatchObject({ Inbox: String(POSTS) });
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    // Read in the page: Playwright's `page.url()` reports `history.replaceState` later than the list shows it.
    const address = new URL(await page.evaluate<string>('location.href'));
    expect(address.searchParams.get('signal')).toBe(await current());
    for (const [at, key] of PRESSED.entries()) {
      const before = at === POSTS - 1 ? null : await current();
      await page.keyboard.press(key);
      if (before === null) await page.getByRole('heading', { name: 'Inbox zero' }).waitFor();
      else await page.locator(`[data-row][data-current]:not([data-key="${before}"])`).waitFor();
    }
    const snoozed = PRESSED.filter((key) => key === 's').length;
    expect(await counts()).toMatchObject({
      ...{ Inbox: '0', Snoozed: String(snoozed), Done: String(POSTS - snoozed), All: String(POSTS) },
    });
    const { data: leads } = await walk.call('GET', '/v1/pipeline').then((data) => ({ data }));
    expect(leads.stages[0]).toMatchObject({ stage: 'new', count: LEADS });
    await page.goto(`${walk.server.url}/dashboard/pipeline`);
    await page.locator('[data-card] [data-handle], [data-card][tabindex]').first().focus();
    for (const pressed of ['Space', ...Array(5).fill('ArrowRight'), 'Space'])
      await page.keyboard.press(pressed);
    await page.locator('[data-stage="won"] [data-card]').waitFor();
    expect(walk.faults).toEqual([]);
  });

  test('new signals join the list automatically, and the selected signal stays selected', async () => {
    await page.goto(`${walk.server.url}/dashboard/signals?state=all`);
    await page.keyboard.press('j');
    const chosen = await current();
    const text =
      'Which fleet tracker should we buy?\n\nBudget is approved and we need a fleet tracker this month.';
    const platform = { name: 'reddit', post_url: 'https://www.reddit.com/r/vans/comments/9/x/' };
    await walk.call('POST', '/v1/signals', { platform, text });
    await page.locator('[data-row]').filter({ hasText: 'Which fleet tracker' }).waitFor();
    expect(await current()).toBe(chosen);
    expect(await page.evaluate('document.activeElement.closest("[data-row]")?.dataset.key')).toBe(chosen);
    expect(walk.faults).toEqual([]);
  });
});
