import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { mayLackBrowser } from '../support/browser.ts';
import { OWNER, startWalk, type Walk } from '../support/dashboard-walk.ts';
import { anotherPost } from '../support/webhooks.ts';

/** Changes that affect only the user who makes them. */
const OWN = /^\/dashboard\/(logout$|settings\/account)/;

/** Where each form for a change is sent, and its fields. */
type Changes = Map<string, Record<string, string>>;

describe.skipIf(mayLackBrowser())('a team in a real browser, against a real process', () => {
  let walk: Walk;
  let owner: Page;
  let reader: Page;
  let screens: string[];

  beforeAll(async () => {
    walk = await startWalk();
    const signal = { ...anotherPost(1), prospect: { name: 'Ann Lee', email: 'ann@acme.example' } };
    const company = { name: 'Acme', domain: 'acme.example' };
    const lead = await walk.call('POST', '/v1/leads', { signal: { ...signal, company } });
    const [{ signal_id: signalId }] = await walk.call('GET', '/v1/signals');
    const hook = await walk.call('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/' });
    const source = await walk.call('POST', '/v1/sources', { kind: 'lobsters', name: 'Later', active: false });
    const [profile] = await walk.call('GET', '/v1/icps');
    screens = [
      ...['', '/start', '/signals', `/signals/${signalId}`, '/pipeline', '/leads', `/leads/${lead.id}`],
      ...[`/leads/${lead.id}/edit`, `/leads/${lead.id}/erase`, '/companies/acme.example/edit'],
      ...['/profiles', '/profiles/new', `/profiles/${profile.id}`],
      ...['/sources', '/sources/new', `/sources/${source.id}`, `/sources/${source.id}/edit`],
      ...['/settings/integrations/webhooks/new', `/settings/integrations/webhooks/${hook.id}`],
      ...['/webhook-logs', '/dead-letters', '/settings/team', '/settings/api-keys', '/settings/outbox'],
    ].map((path) => `${walk.server.url}/dashboard${path}`);
  }, 180_000);
  afterAll(() => walk?.close());

  const menu = (page: Page, name: string) =>
    page.getByRole('navigation').getByRole('link', { name, exact: true }).click();

  async function invite(email: string, role: string): Promise<Page> {
    await menu(owner, 'Team');
    await owner.getByLabel('Email').fill(email);
    await owner.getByLabel('Role', { exact: true }).selectOption(role);
    await owner.getByRole('button', { name: 'Invite' }).click();
    return walk.comeIn((await owner.locator('#invitation').textContent()) ?? '');
  }

  /** The changes offered on a user's screens. */
  async function changesOf(page: Page): Promise<Changes> {
    const found: Changes = new Map();
    for (const screen of screens) {
      await page.goto(screen);
      const forms = await page.evaluate<[string, Record<string, string>][]>(
        `[...document.querySelectorAll('form[method="post"]')]
          .map((form) => [form.getAttribute('action'), Object.fromEntries(new FormData(form))])`,
      );
      for (const [action, fields] of forms) if (!OWN.test(action)) found.set(action, fields);
    }
    return found;
  }

  test('an invited reader sees everything, is offered no changes, and is refused every change an owner can make', async () => {
    owner = await walk.comeIn(walk.setupUrl);
    reader = await invite('reader@example.com', 'reader');
    const changes = await changesOf(owner);
    expect(changes.size).toBeGreaterThan(25);
    expect(walk.faults).toEqual([]);
    expect([...(await changesOf(reader)).keys()]).toEqual([]);
    await reader.goto(`${walk.server.url}/dashboard/settings/account`);
    const _csrf = await reader.locator('input[name="_csrf"]').first().inputValue();
    for (const [action, fields] of changes) {
      const form = { ...fields, _csrf };
      const refused = await reader.request.post(walk.server.url + action, { form });
      expect([action, refused.status()]).toEqual([action, 403]);
      expect(await refused.text()).toContain(`Ask an owner: ${OWNER}.`);
    }
    // Forms for changes, which the reader opened by URL.
    for (const fault of walk.faults.splice(0)) expect(fault).toContain('status of 403');
  }, 240_000);

  test('when an owner makes somebody a reader, or removes them, it takes effect immediately', async () => {
    const member = await invite('member@example.com', 'member');
    await menu(member, 'Sources');
    await member.getByRole('link', { name: 'Add source' }).first().click();
    await member.getByLabel('Name', { exact: true }).fill('Mine');
    await menu(owner, 'Team');
    const row = owner.getByRole('row').filter({ hasText: 'member@example.com' });
    await row.getByLabel('Role of member@example.com').selectOption('reader');
    await row.getByRole('button', { name: 'Save' }).click();
    await owner.getByText('Saved.').waitFor();
    await member.getByRole('button', { name: 'Add source' }).click();
    await member.getByText('You have read-only access.').waitFor();
    await menu(member, 'Audit log');
    await member.getByRole('cell', { name: 'Member invited' }).first().waitFor();

    for (const [email, page] of [
      ['reader@example.com', reader],
      ['member@example.com', member],
    ] as const) {
      await menu(owner, 'Team');
      await owner.getByRole('link', { name: `Remove ${email}` }).click();
      await owner.getByRole('button', { name: 'Remove' }).click();
      await owner.getByText('Removed and logged out.').waitFor();
      await page.reload();
      await page.getByRole('button', { name: 'Log in' }).waitFor();
    }
    expect((await walk.call('GET', '/v1/sources')).map(({ name }: { name: string }) => name)).toEqual([
      'Later',
    ]);
    expect(walk.faults.splice(0)).toEqual([expect.stringContaining('status of 403')]);
  }, 240_000);
});
