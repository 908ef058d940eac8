import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rss, wanting } from '../detection/harness.ts';
import { mayLackBrowser } from '../support/browser.ts';
import { startWalk, type Walk } from '../support/dashboard-walk.ts';
import { startReceiver, status } from '../support/receiver.ts';

const ASKS = 'Can anyone recommend a CRM? We have budget and need it this month.';
const PATIENCE = { timeout: 60_000, interval: 50 };

describe.skipIf(mayLackBrowser())('the work screens in a real browser, against a real process', () => {
  let walk: Walk;
  let page: Page;
  let leadId: string;

  beforeAll(async () => {
    walk = await startWalk();
    const signal = {
      ...{ platform: { name: 'reddit', post_url: 'https://reddit.com/r/hvac/1' }, text: ASKS },
      prospect: { name: 'Ann Lee', email: 'ann@acme.example' },
      company: { name: 'Acme', domain: 'acme.example' },
    };
    leadId = (await walk.call('POST', '/v1/leads', { signal })).id;
    page = await walk.comeIn(walk.setupUrl, { hasTouch: true });
  }, 180_000);
  afterAll(() => walk?.close());

  const inColumn = (stage: string) => page.locator(`[data-stage="${stage}"] #${leadId}`);
  const stageNow = async () => (await walk.call('GET', `/v1/leads/${leadId}`)).stage;
  const open = (path: string) => page.goto(`${walk.server.url}/dashboard${path}`);

  /** Where a pointer picks up the card, and where it drops it in that stage. */
  async function way(stage: string, held = '[data-handle]') {
    const from = await page.locator(`#${leadId} ${held}`).boundingBox();
    const to = await page.locator(`[data-stage="${stage}"]`).boundingBox();
    if (from === null || to === null) throw new Error('the board is not shown');
    return { from: { x: from.x + 10, y: from.y + 10 }, to: { x: to.x + to.width / 2, y: to.y + 60 } };
  }

  async function dragByMouse(stage: string): Promise<void> {
    const { from, to } = await way(stage, '.who-is');
    await page.mouse.move(from.x, from.y);
    await page.mouse.down();
    await page.mouse.move(to.x, to.y, { steps: 5 });
    await page.mouse.up();
  }

  async function dragByTouch(stage: string): Promise<void> {
    const { from, to } = await way(stage);
    const device = await page.context().newCDPSession(page);
    const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', at?: { x: number; y: number }) =>
      device.send('Input.dispatchTouchEvent', { type, touchPoints: at === undefined ? [] : [at] });
    await touch('touchStart', from);
    for (const part of [0.1, 0.5, 1]) {
      await touch('touchMove', { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part });
    }
    await touch('touchEnd');
  }

  /** A card is shown where it was dropped immediately, so only the reloaded page proves the move. */
  async function moves(stage: string, act: () => Promise<void>): Promise<void> {
    const loaded = page.waitForEvent('load');
    await act();
    await loaded;
    await inColumn(stage).waitFor();
    expect(await stageNow()).toBe(stage);
  }

  test('a card can be moved by keyboard, mouse and touch, and stays there when the board is reloaded', async () => {
    await open('/pipeline');
    await page.getByRole('button', { name: 'Move Ann Lee', exact: true }).first().focus();
    for (const key of ['Space', 'ArrowRight']) await page.keyboard.press(key);
    // The target is shown before the card is dropped, and Escape cancels the move.
    await inColumn('contacted').waitFor();
    expect(await stageNow()).toBe('new');
    await page.keyboard.press('Escape');
    await inColumn('new').waitFor();
    for (const key of ['Space', 'ArrowRight']) await page.keyboard.press(key);
    await moves('contacted', () => page.keyboard.press('Space'));
    await moves('engaged', () => dragByMouse('engaged'));
    await moves('contacted', () => dragByTouch('contacted'));
    await moves('lost', async () => {
      await dragByMouse('lost');
      await page.getByLabel('Reason').fill('No budget');
      await page.getByRole('button', { name: 'Mark as lost' }).click();
    });
    expect((await walk.call('GET', `/v1/pipeline/${leadId}/history`))[0].reason).toBe('No budget');
    await moves('contacted', () => dragByMouse('contacted'));
    expect(walk.faults).toEqual([]);
  }, 240_000);

  test('a card that somebody else has moved is not moved from its old stage; the board shows where it is now', async () => {
    await walk.call('PUT', `/v1/pipeline/${leadId}/stage`, { stage: 'qualified' });
    await dragByMouse('engaged');
    await page.getByRole('alert').filter({ hasText: 'qualified' }).waitFor();
    expect(await stageNow()).toBe('qualified');
    expect(walk.faults.splice(0)).toEqual([expect.stringContaining('status of 4')]);
    await open('/pipeline');
    await inColumn('qualified').waitFor();
  }, 120_000);

  test('the profile editor rescores stored posts while the user types, and saves nothing', async () => {
    const [profile] = await walk.call('GET', '/v1/icps');
    await open(`/profiles/${profile.id}`);
    await page.getByLabel('Excluded phrases').fill('recommend a crm');
    await page.getByText(/Newest 1 post: hot 1 → 0/).waitFor();
    expect((await walk.call('GET', `/v1/icps/${profile.id}`)).excluded_phrases).toEqual([]);
    expect(walk.faults).toEqual([]);
  }, 120_000);

  test('a source is created from a URL, and what it finds appears in the feed', async () => {
    const site = await startReceiver((response, request, socket) => {
      const posts = { '/latest.rss': rss([['1', wanting('CRM')]]), '/empty.rss': rss([]) }[request.path];
      (posts === undefined ? status(404) : status(200, {}, posts))(response, request, socket);
    });
    await open('/sources/new');
    await page.getByLabel('Address or subject').fill(`http://127.0.0.1:${site.port}/latest.rss`);
    await page.getByRole('button', { name: 'Fill in' }).click();
    await page.getByText('filled in as a feed').waitFor();
    await page.getByRole('button', { name: 'Add source' }).click();
    await page.getByRole('heading', { level: 1, name: '127.0.0.1' }).waitFor();
    const [source] = await walk.call('GET', '/v1/sources');
    await expect
      .poll(async () => (await walk.call('GET', `/v1/sources/${source.id}`)).signals_made, PATIENCE)
      .toBe(1);
    await page.reload();
    await page.getByRole('row', { name: 'Matched a profile' }).getByText('100%').waitFor();
    // A feed without posts is not shown as healthy.
    const empty = { kind: 'rss', name: 'Nothing', url: `http://127.0.0.1:${site.port}/empty.rss` };
    const { id } = await walk.call('POST', '/v1/sources', empty);
    await expect
      .poll(async () => (await walk.call('GET', `/v1/sources/${id}`)).last_success_at, PATIENCE)
      .not.toBeNull();
    await open('/sources');
    await page
      .getByRole('row', { name: /^Nothing / })
      .getByText('no posts yet')
      .waitFor();
    await page
      .getByRole('row', { name: /^127\.0\.0\.1:/ })
      .getByText('healthy')
      .waitFor();
    await open('/signals?q=looking');
    await page.getByText('looking for a new CRM').first().waitFor();
    await site.close();
    expect(walk.faults).toEqual([]);
  }, 240_000);
});
