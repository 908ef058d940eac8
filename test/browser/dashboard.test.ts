import { createHmac } from 'node:crypto';
import type { Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mayLackBrowser } from '../support/browser.ts';
import { OWNER, PASSWORD, startWalk, type Walk } from '../support/dashboard-walk.ts';
import { type Answer, type Received, type Receiver, startReceiver, status } from '../support/receiver.ts';
import { anotherPost } from '../support/webhooks.ts';

const MINUTE_MS = 60_000;
const ASKED = 'Which dispatch app do you use';

/** A simulated Hacker News with one question, which contains the search phrase. */
const community: Answer = (response, { path }) => {
  const [competitor] = (new URL(path, 'http://local').searchParams.get('query') ?? '').split(' alternative');
  const hit = {
    objectID: '1',
    created_at: new Date().toISOString(),
    author: 'ann',
    title: `${ASKED} in place of ${competitor}?`,
    story_text: `We are a plumbing company of 12 and leave ${competitor} this month. Which dispatch app do you recommend? Budget is approved.`,
  };
  const isSearch = path.startsWith('/api/v1/search_by_date');
  response.writeHead(isSearch ? 200 : 404, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ hits: [hit], nbPages: 1 }));
};

describe.skipIf(mayLackBrowser())('the dashboard in a real browser, against a real process', () => {
  let walk: Walk;
  let receiver: Receiver;
  let site: Receiver;
  let page: Page;
  let secret: string;

  beforeAll(async () => {
    [site, receiver] = await Promise.all([startReceiver(community), startReceiver(status(200, {}, 'taken'))]);
    walk = await startWalk({
      SOURCE_SITES: JSON.stringify({ hackernews: `http://127.0.0.1:${site.port}` }),
    });
  }, 180_000);
  afterAll(async () => {
    await walk?.close();
    await receiver?.close();
    await site?.close();
  });

  const menu = (name: string) =>
    page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
  const button = (name: string | RegExp) => page.getByRole('button', { name, exact: true });
  const says = (text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();

  /** Fails unless a delivery is signed with the secret shown on the page, in all three schemes. */
  function verify({ body, headers }: Received): void {
    const { signature } = new Webhook(secret).verify(body, headers as Record<string, string>) as {
      signature: string;
    };
    const hmac = (text: string) => createHmac('sha256', secret).update(text).digest('hex');
    expect(headers['x-service-signature']).toBe(hmac(body));
    expect(signature).toBe(hmac(body.replace(`,"signature":"${signature}"`, '')));
  }

  async function post(count: number): Promise<void> {
    const already = posted;
    posted += count;
    const signals = Array.from({ length: count }, (_, i) => anotherPost(already + i));
    await walk.call('POST', '/v1/signals/batch', { signals });
  }
  let posted = 0;

  test('an account gets from its set-up link to scored samples, and to a rated signal from a suggested source, in under three minutes', async () => {
    const started = Date.now();
    page = await walk.comeIn(walk.setupUrl);
    await page
      .getByLabel('What you sell, in one line')
      .fill('Scheduling and dispatch app for plumbing companies');
    await button('Draft my profile').click();
    const phrases = page.getByRole('group', { name: 'Phrases buyers use' }).getByRole('checkbox');
    expect(await phrases.count()).toBeGreaterThan(3);
    await button(/^Use this profile/).click();
    await page
      .getByRole('button', { name: /^Relevant: / })
      .first()
      .click();
    await page.getByRole('button', { name: /^Relevant: /, pressed: true }).waitFor();
    await page.getByRole('link', { name: 'Choose sources' }).click();
    const place = 'Hacker News: .+ alternative$';
    await button(new RegExp(`^Preview 24 hours ?: ${place}`)).click();
    await page.getByText('Would have brought 1 of 1 post in the last 24 hours.').waitFor();
    await button(new RegExp(`^Add source ?: ${place}`)).click();
    await says('Source added.');
    await menu('Signals');
    const found = page.locator('[data-row]').filter({ hasText: ASKED });
    await found.waitFor();
    await page.locator('[data-inbox-pane]').getByRole('heading').first().waitFor(); // the list has its final width
    await found.getByRole('button', { name: /^Relevant: / }).click();
    await found.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: /^Done/ }).click();
    await found.getByText('relevant', { exact: false }).first().waitFor();
    expect(Date.now() - started).toBeLessThan(3 * MINUTE_MS);
    expect(walk.faults).toEqual([]);
  }, 240_000);

  test('a webhook is created; the receiver verifies its test delivery, and the page shows request and response', async () => {
    await menu('Webhooks');
    await page.getByRole('link', { name: 'Create webhook' }).first().click();
    await page.getByLabel('Target URL').fill(receiver.url);
    await page.getByLabel('Label').fill('CRM');
    await page.getByText('Advanced: mode, order, headers, retries').click();
    await page.getByLabel('Max Retries').fill('4');
    await page.getByLabel('Retry Interval').fill('45');
    await page.getByLabel('Payload Format').selectOption('slack');
    await page.getByRole('heading', { name: /Preview of/ }).waitFor();
    await page.getByLabel('Payload Format').selectOption('standard');
    await button('Create webhook').click();
    secret = (await page.locator('#secret').textContent()) ?? '';
    expect(secret).toMatch(/^whsec_/);
    await button('Send test delivery').click();
    await says('Delivered: the endpoint responded with 200');
    const [sent] = receiver.requests;
    if (sent === undefined) throw new Error('nothing came');
    verify(sent);
    const shown = await page
      .locator('section', { hasText: 'Test delivery' })
      .locator('pre')
      .allTextContents();
    expect(shown[1]).toBe(sent.body);
    expect(shown[0]).toContain(`${sent.headers['x-service-signature']}`);
    expect(shown.at(-1)).toBe('taken');
    expect(walk.faults).toEqual([]);
  }, 240_000);

  test('while paused, it holds deliveries and shows why and how many; when resumed, it sends all of them', async () => {
    await button('Pause').click();
    await page.getByText('Paused manually').waitFor();
    await post(3);
    await page.reload();
    await page.getByRole('link', { name: '3 held' }).click();
    await expect.poll(() => page.locator('tbody .badge.held').count(), PATIENCE).toBe(3);
    expect(receiver.requests).toHaveLength(1);
    await page.goBack();
    await button('Resume').click();
    await button('Pause').waitFor();
    await receiver.received(4);
    receiver.requests.slice(1).forEach(verify);
    expect(walk.faults).toEqual([]);
  }, 240_000);

  test('Webhook Logs update automatically, and can replay one delivery, several, or all since a given time', async () => {
    await menu('Webhook Logs');
    const rows = page.locator('tbody tr');
    const delivered = rows.filter({ has: page.locator('.badge.delivered') });
    await expect.poll(() => delivered.count(), PATIENCE).toBe(3);
    // The list refreshes automatically.
    await post(1);
    await expect.poll(() => delivered.count(), PATIENCE).toBe(4);
    await receiver.received(5);
    const times = (id: string) => receiver.requests.filter(({ headers }) => headers['webhook-id'] === id);
    const ids = await rows.evaluateAll((all) => all.map((row) => row.getAttribute('data-key') ?? ''));

    await rows.first().locator('td.head-cell a').click();
    await button('Replay').click();
    // A delivery that has already arrived is sent again only after a second click.
    await button('Resend').click();
    await receiver.received(6);
    expect(times(ids[0] ?? '').map(({ headers }) => headers['x-service-attempt'])).toEqual(['1', '2']);
    await menu('Webhook Logs');
    for (const id of ids.slice(1, 3)) await page.locator(`input[value="${id}"]`).check();
    await button('Replay selected').click();
    await button('Resend').click();
    await says('2 deliveries are being resent.');
    await receiver.received(8);
    expect(ids.map((id) => times(id).length)).toEqual([2, 2, 2, 1]);
    // A delivery that is already being replayed is not replayed again.
    await expect.poll(() => delivered.count(), PATIENCE).toBe(4);
    await page.getByText('Replay since…').click();
    await page.getByLabel('Final status').selectOption('delivered');
    await page.getByLabel('Created since (UTC)').fill('2020-01-01T00:00');
    page.once('dialog', (dialog) => void dialog.accept());
    await button('Replay all').click();
    await says('4 deliveries are being resent.');
    await receiver.received(12);
    expect(ids.map((id) => times(id).length)).toEqual([3, 3, 3, 2]);
    receiver.requests.forEach(verify);
    expect(walk.faults).toEqual([]);
  }, 240_000);

  test('after the secret is regenerated, deliveries are signed with the new one', async () => {
    await menu('Webhooks');
    await page.getByRole('link', { name: 'CRM' }).click();
    page.once('dialog', (dialog) => void dialog.accept());
    await button('Generate New Secret').click();
    await page.getByText('Copy the new secret').waitFor();
    const before = secret;
    secret = (await page.locator('#secret').textContent()) ?? '';
    expect(secret).not.toBe(before);
    await button('Send test delivery').click();
    await says('Delivered');
    receiver.requests.slice(-1).forEach(verify);
    expect(walk.faults).toEqual([]);
  }, 240_000);

  test('after logging out, the session is invalid on the server, and Back shows nothing private', async () => {
    for (const name of ['Signals', 'Team']) await menu(name);
    await page.getByRole('heading', { level: 1, name: 'Team' }).waitFor();
    const team = page.url();
    const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
    const asked = async () => {
      const answer = await fetch(team, { headers: { cookie }, redirect: 'manual' });
      return [answer.status, answer.headers.get('location')];
    };
    expect(await asked()).toEqual([200, null]);
    const other = await page.context().newPage();
    await other.goto(team);
    await button('Log out').click();
    await says('You are logged out.');
    expect(await asked()).toEqual([303, expect.stringContaining('/dashboard/login')]);
    // Another tab, and a browser that has kept the whole page in its cache.
    await other.evaluate(`dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`);
    await other.getByRole('button', { name: 'Log in' }).waitFor();
    for (let i = 0; i < 2; i++) {
      await page.goBack();
      await button('Log in').waitFor();
      expect(await page.content()).not.toContain(OWNER);
    }
    await page.goto(`${walk.server.url}/dashboard/login`);
    await page.getByLabel('Email').fill(OWNER);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Today' }).waitFor();
    expect(walk.faults).toEqual([]);
  }, 240_000);
});

const PATIENCE = { timeout: MINUTE_MS, interval: 50 };
