import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { launchBrowser, mayLackBrowser } from '../support/browser.ts';
import {
  freePort,
  runCommand,
  type ServerProcess,
  serverEnv,
  startServerProcess,
} from '../support/server-process.ts';

const PASSWORD = 'correct horse battery';

describe.skipIf(mayLackBrowser())('a team in a real browser, against a real process', () => {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-team-'));
  let browser: Browser;
  let server: ServerProcess;
  let setupUrl: string;

  beforeAll(async () => {
    const port = await freePort();
    const env = { BASE_URL: `http://127.0.0.1:${port}` };
    const create = ['tenant', 'create', '--name', 'Acme', '--email', 'owner@example.com', '--json'];
    const all = { ...serverEnv(folder, port), ...env };
    ({ setup_url: setupUrl } = JSON.parse(await runCommand(create, all)));
    server = await startServerProcess(folder, port, env);
    browser = await launchBrowser();
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await server?.terminate();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Somebody with a browser of their own, who has opened a link and chosen a password. */
  async function comeIn(link: string): Promise<Page> {
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(link);
    await page.getByLabel('Password').fill(PASSWORD);
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor();
    return page;
  }

  async function invite(owner: Page, email: string, role: string): Promise<string> {
    await owner.getByRole('link', { name: 'Team', exact: true }).click();
    await owner.getByLabel('Email').fill(email);
    await owner.getByLabel('Role', { exact: true }).selectOption(role);
    await owner.getByRole('button', { name: 'Invite' }).click();
    return (await owner.locator('#invitation').textContent()) ?? '';
  }

  test('an owner invites a member and a reader; the reader is refused what the member may; out again', async () => {
    const owner = await comeIn(setupUrl);
    const member = await comeIn(await invite(owner, 'member@example.com', 'member'));
    const reader = await comeIn(await invite(owner, 'reader@example.com', 'reader'));

    await member.getByRole('link', { name: 'Sources', exact: true }).click();
    await member.getByRole('link', { name: 'Audit', exact: true }).click();
    await member.getByRole('cell', { name: 'member.invite' }).first().waitFor();

    // A form as a member has it, sent by a reader: the screen of a reader has none.
    const profiles = new URL('/dashboard/profiles/new', reader.url()).href;
    await reader.goto(profiles);
    const csrf = await reader.locator('input[name="_csrf"]').first().inputValue();
    const refused = await reader.request.post(profiles, { form: { _csrf: csrf, name: 'Mine' } });
    expect(refused.status()).toBe(403);
    expect(await refused.text()).toContain('Ask an owner: owner@example.com.');

    await reader.getByRole('link', { name: 'Your account', exact: true }).click();
    await reader.getByText('reader@example.com, reader of Acme').waitFor();
    await owner.getByRole('link', { name: 'Team', exact: true }).click();
    await owner.getByRole('link', { name: 'Remove reader@example.com' }).click();
    await owner.getByRole('button', { name: 'Remove' }).click();
    await owner.getByText('They are logged out.').waitFor();
    await reader.reload();
    await reader.getByRole('button', { name: 'Log in' }).waitFor();

    await member.getByRole('button', { name: 'Log out' }).click();
    await member.getByText('You are logged out.').waitFor();
  }, 240_000);
});
