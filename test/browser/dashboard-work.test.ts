import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PASSWORD, signedIn } from '../dashboard/browser-session.ts';
import { postSignal } from '../dashboard/hostile.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { launchBrowser, mayLackBrowser } from '../support/browser.ts';

describe.skipIf(mayLackBrowser())('the screens of work in a real browser', () => {
  let made: TestApp;
  let browser: Browser;
  let url: string;
  let leadId: string;

  async function create(path: string, payload: object): Promise<string> {
    const answer = await made.app.inject({ method: 'POST', url: path, headers: made.auth, payload });
    expect([answer.statusCode, answer.body]).toEqual([201, expect.any(String)]);
    return answer.json().data.id;
  }

  beforeAll(async () => {
    made = await buildTestApp({ env: { BASE_URL: 'http://127.0.0.1' } });
    await signedIn(made, made.tenant.id);
    const signal = await postSignal(made, {
      text: 'Can anyone recommend a CRM? We have budget and need it this month.',
      prospect: { name: 'Ann Lee', email: 'ann@acme.example' },
      company: { name: 'Acme', domain: 'acme.example' },
    });
    leadId = await create('/v1/leads', { signal_ids: [signal] });
    url = await made.app.listen({ host: '127.0.0.1', port: 0 });
    browser = await launchBrowser();
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    await made?.app.close();
  });

  async function openPage(options: { colorScheme: 'light' | 'dark'; width: number }) {
    const { colorScheme, width } = options;
    const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
    const page = await context.newPage();
    await page.goto(`${url}/dashboard/login?next=/dashboard/signals`);
    await page.getByLabel('Email').fill('owner@example.com');
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.waitForURL('**/dashboard/signals');
    return page;
  }

  test('a card moves by keys and by mouse', async () => {
    const page = await openPage({ colorScheme: 'light', width: 1280 });
    await page.goto(`${url}/dashboard/pipeline`);
    const inColumn = (stage: string) => page.locator(`[data-stage="${stage}"] #${leadId}`);
    await page.getByRole('button', { name: 'Move Ann Lee', exact: true }).first().focus();
    for (const key of ['Space', 'ArrowRight', 'Space']) await page.keyboard.press(key);
    await inColumn('contacted').waitFor();
    const handle = page.locator(`#${leadId} [data-handle]`);
    const from = await handle.boundingBox();
    const to = await page.locator('[data-stage="engaged"]').boundingBox();
    if (from === null || to === null) throw new Error('the board is not shown');
    await page.mouse.move(from.x + 10, from.y + 10);
    await page.mouse.down();
    await page.mouse.move(to.x + to.width / 2, to.y + 60, { steps: 5 });
    await page.mouse.up();
    await inColumn('engaged').waitFor();
    expect((await made.store.getLead(made.tenant.id, leadId))?.lead.stage).toBe('engaged');
    await page.context().close();
  }, 120_000);

  test('the profile editor rescores stored posts while one types, and saves nothing', async () => {
    const page = await openPage({ colorScheme: 'light', width: 1280 });
    const [profile] = await made.store.listProfiles(made.tenant.id);
    await page.goto(`${url}/dashboard/profiles/${profile?.id}`);
    await page.getByLabel('Phrases that count against').fill('recommend a crm');
    await page.getByText(/Of the newest 1 post: hot 1 → 0/).waitFor();
    expect((await made.store.listProfiles(made.tenant.id))[0]?.excludedPhrases).toEqual([]);
    await page.context().close();
  }, 60_000);
});
