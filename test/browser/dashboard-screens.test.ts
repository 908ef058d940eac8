import axe, { type AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PASSWORD, signedIn } from '../dashboard/browser-session.ts';
import { fillAccount } from '../dashboard/full-account.ts';
import { buildTestApp, foundingLink, type TestApp } from '../support/app.ts';
import { launchBrowser, mayLackBrowser } from '../support/browser.ts';

const WIDTHS = [1280, 320];
/** The rules that depend on the colour scheme; all others are checked once per width. */
const OF_COLOURS = { runOnly: ['color-contrast', 'link-in-text-block'] };

describe.skipIf(mayLackBrowser())('every dashboard screen in a real browser', () => {
  let made: TestApp;
  let browser: Browser;
  let page: Page;
  let url: string;
  let screens: string[];
  const faults: string[] = [];

  beforeAll(async () => {
    made = await buildTestApp({ env: { BASE_URL: 'http://127.0.0.1' } });
    await signedIn(made, made.tenant.id);
    ({ screens } = await fillAccount(made, 'https://hooks.example.com/a'));
    url = await made.app.listen({ host: '127.0.0.1', port: 0 });
    browser = await launchBrowser();
    page = await browser.newPage();
    page.on('request', (request) => {
      if (!request.url().startsWith(url)) faults.push(`asked ${request.url()}`);
    });
    page.on('console', (message) => {
      if (/Content.Security.Policy/i.test(message.text())) faults.push(message.text());
    });
    page.on('pageerror', (error) => faults.push(String(error)));
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await made?.app.close();
  });

  /** Checks the open page in both schemes and at both widths, without reloading it. */
  async function look(path: string, widths = WIDTHS): Promise<void> {
    await page.evaluate(axe.source);
    for (const width of widths) {
      await page.setViewportSize({ width, height: 900 });
      for (const colorScheme of ['light', 'dark'] as const) {
        // Without motion, so that no colour is checked in the middle of a transition.
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        const options = JSON.stringify(colorScheme === 'light' ? {} : OF_COLOURS);
        const { violations, passes } = await page.evaluate<AxeResults>(`axe.run(${options})`);
        const found = violations.map(({ id, help, nodes }) => `${id}: ${help} (${nodes[0]?.target})`);
        expect.soft(found, `${path} ${colorScheme} ${width}`).toEqual([]);
        expect.soft(passes.length, path).toBeGreaterThan(0);
      }
      const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect.soft(wide, `${path} at ${width}`).toBeLessThanOrEqual(width);
    }
  }

  test('axe reports nothing in light or dark mode, no screen is wider than the window, and none violates the CSP', async () => {
    for (const path of ['/dashboard/setup', '/dashboard/reset', '/dashboard/login?next=/dashboard/signals']) {
      await page.goto(url + path);
      await look(path);
    }
    await page.getByLabel('Email').fill('owner@example.com');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL('**/dashboard/signals');
    for (const path of screens) {
      await page.goto(url + path);
      await page.evaluate('for (const fold of document.querySelectorAll("details")) fold.open = true');
      await look(path);
    }
    expect(faults).toEqual([]);
  }, 300_000);

  const go = (path: string) => page.goto(`${url}/dashboard${path}`);
  const send = (name: string) => page.getByRole('button', { name, exact: true }).click();

  test('the same holds with something open: a signal beside the list, bulk actions, shortcuts, a confirmation, the palette', async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await go('/signals?state=all');
    await page.locator('[data-inbox-pane] h1').waitFor();
    await look('the inbox with its pane');
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.keyboard.press('x');
    await page.getByText('With selected (1)').waitFor();
    await look('the inbox with one selected');
    await page.keyboard.press('x');
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    await look('the keys');
    await page.setViewportSize({ width: 1280, height: 900 });
    await go('/pipeline');
    await page.locator('[data-handle]').first().focus();
    for (const key of ['Space', ...Array(6).fill('ArrowRight'), 'Space']) await page.keyboard.press(key);
    await page.getByRole('dialog', { name: /^Why was .+ lost\?$/ }).waitFor();
    await look('why a lead is lost');
    await go('');
    await page.keyboard.press('Control+k');
    await page.getByRole('option').first().waitFor();
    await look('the palette');
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 320, height: 900 });
    await page.getByRole('button', { name: 'Menu' }).click();
    await page.getByRole('link', { name: 'Pipeline', exact: true }).waitFor();
    await look('the menu of a phone', [320]);
    expect(faults).toEqual([]);
  }, 120_000);

  test('the same holds for form responses: a draft, a new secret, a confirmation, the second factor', async () => {
    await go('/start');
    await page.getByLabel('What you sell, in one line').fill('Shared inbox software for support teams');
    await send('Draft my profile');
    await page.getByRole('group', { name: 'Phrases buyers use' }).waitFor();
    await look('a draft');
    await go('/settings/api-keys');
    await page.getByLabel('Name').fill('CRM');
    await send('Create API key');
    await page.locator('#key').waitFor();
    await look('a new key');
    await go('/settings/account');
    await page.getByLabel('Your password').fill('not the password');
    await send('Turn on');
    await page.getByRole('alert').waitFor();
    await look('a wrong password');
    await page.getByLabel('Your password').fill(PASSWORD);
    await send('Continue');
    await page.getByRole('img', { name: 'QR code for an authenticator app' }).waitFor();
    await look('the second factor');
    expect(faults).toEqual([]);
  }, 120_000);

  test('the same holds for the first-account form, both initially and with errors', async () => {
    const empty = await buildTestApp({ env: { BASE_URL: 'http://127.0.0.1' }, isEmpty: true });
    await page.goto(`${await empty.app.listen({ host: '127.0.0.1', port: 0 })}/dashboard/setup`);
    await look('the first account');
    await page.getByLabel('Link').fill(foundingLink());
    await page.getByLabel('Company name').fill('Vans');
    await page.getByLabel('Email').fill('first@vans.example');
    await page.getByLabel('Password').fill('first@vans.example');
    await page.getByRole('button').click();
    await page.locator('[aria-invalid=true]').waitFor();
    await look('the first account, refused');
    await empty.app.close();
  }, 60_000);

  test('Ctrl-K finds things using only the keyboard, and Enter opens them', async () => {
    await page.setViewportSize({ width: 1280, height: 900 });
    await page.goto(`${url}/dashboard`);
    await page.keyboard.press('Control+k');
    const input = page.getByRole('combobox', { name: /^Find a signal/ });
    await input.fill('acme');
    await page.getByRole('option', { name: /Company Acme/ }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    const chosen = page.getByRole('option', { selected: true });
    expect(await input.getAttribute('aria-activedescendant')).toBe(await chosen.getAttribute('id'));
    await page.keyboard.press('Escape');
    await input.waitFor({ state: 'hidden' });
    await page.keyboard.press('Control+k');
    await input.fill('webhook lo');
    await page.getByRole('option', { name: /Webhook Logs/ }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL('**/dashboard/webhook-logs');
  }, 60_000);
});
