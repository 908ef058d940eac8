import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { renewSetupLink } from '../../src/accounts/links.ts';
import { systemRandom } from '../../src/lib/random.ts';
import type { SendTest } from '../../src/webhooks/test-delivery.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { launchBrowser, mayLackBrowser } from '../support/browser.ts';
import { freePort } from '../support/server-process.ts';

const WIDE = { width: 1280, height: 900 };

/** Sends the test to the receiver, as the dispatcher would, and tells what came back. */
const sendTest: SendTest = async ({ endpoint, body }) => {
  const response = await fetch(endpoint.settings.url, { method: 'POST', body });
  const received = { status: response.status, headers: {}, body: await response.text() };
  const common = { id: 'att_1', attempt: 1, startedAt: 0, durationMs: 5, sent: null, error: null };
  return {
    kind: 'sent',
    record: { ...common, response: received, timings: { connectedMs: 1, headersMs: 4 } },
  };
};

describe.skipIf(mayLackBrowser())('the dashboard in a real browser', () => {
  let made: TestApp;
  let browser: Browser;
  let receiver: Server;
  let url: string;
  let target: string;
  const faults: string[] = [];

  beforeAll(async () => {
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    receiver = createServer((_request, response) => response.end('taken')).listen(0, '127.0.0.1');
    const env = { BASE_URL: url, WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' };
    [made, browser] = await Promise.all([buildTestApp({ env, sendTest }), launchBrowser()]);
    target = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`;
    await made.app.listen({ host: '127.0.0.1', port });
  }, 60_000);
  afterAll(async () => {
    await browser?.close();
    await made?.app.close();
    receiver?.close();
  });

  /** A page that tells of every request to elsewhere and of whatever the policy stopped. */
  async function openPage(context: BrowserContext): Promise<Page> {
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.on('request', (request) => {
      if (!request.url().startsWith(url)) faults.push(`asked ${request.url()}`);
    });
    page.on('console', (message) => {
      if (/Content.Security.Policy/i.test(message.text())) faults.push(message.text());
    });
    page.on('pageerror', (error) => faults.push(String(error)));
    return page;
  }

  async function signIn(page: Page): Promise<void> {
    const link = await renewSetupLink({ ...made, random: systemRandom }, made.tenant.id);
    await page.goto(`${url}/dashboard/setup#token=${link?.token}`);
    await page.getByLabel('Password').fill('correct horse battery');
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByRole('heading', { name: 'Today' }).waitFor();
  }

  test('from the set-up link to a webhook that is tested, paused and resumed, and out again', async () => {
    const context = await browser.newContext({ viewport: WIDE });
    const page = await openPage(context);
    await signIn(page);
    await page.getByLabel('What you sell, in one line').fill('Scheduling software for heating engineers');
    await page.getByRole('button', { name: 'Draft my profile' }).click();
    await page.getByRole('button', { name: /^Use this profile/ }).click();
    await page
      .getByRole('button', { name: /^Relevant: / })
      .first()
      .click();
    await page.getByRole('button', { name: /^Relevant: /, pressed: true }).waitFor();
    await page.getByRole('button', { name: 'Remove sample data' }).click();
    await page.getByRole('status').filter({ hasText: 'The sample data is removed.' }).waitFor();
    await page.getByRole('link', { name: 'Webhooks', exact: true }).click();
    await page.getByRole('link', { name: 'Create webhook' }).click();
    await page.getByLabel('Target URL').fill(target);
    await page.getByLabel('Label').fill('Second');
    await page.getByLabel('Max Retries').fill('4');
    await page.getByLabel('Retry Interval').fill('45');
    await page.getByLabel('Payload Format').selectOption('slack');
    await page.getByRole('heading', { name: /Preview of/ }).waitFor();
    await page.getByRole('button', { name: 'Create webhook' }).click();
    expect(await page.locator('#secret').textContent()).toMatch(/^whsec_/);
    await page.getByRole('button', { name: 'Send test delivery' }).click();
    await page.getByRole('status').filter({ hasText: 'Delivered' }).filter({ hasText: '200' }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused by hand').waitFor();
    await page.getByRole('button', { name: 'Resume' }).click();
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    page.once('dialog', (dialog) => void dialog.accept());
    await page.getByRole('button', { name: 'Generate New Secret' }).click();
    await page.getByText('The new secret').waitFor();
    await page.getByRole('link', { name: 'Webhook Logs', exact: true }).click();
    await page.getByText('Nothing was sent yet').waitFor();
    const payload = aPost();
    await made.app.inject({ method: 'POST', url: '/v1/signals', headers: made.auth, payload });
    // The list is read again by itself.
    await page.getByRole('link', { name: 'signal.detected' }).waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByText('You are logged out.').waitFor();
    await page.getByLabel('Email').fill('owner@example.com');
    await page.getByLabel('Password').fill('correct horse battery');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Today' }).waitFor();
    await context.close();
    expect(faults).toEqual([]);
  }, 240_000);
});
