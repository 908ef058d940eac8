import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { memberSignedIn, signedIn, type TestBrowser } from './browser-session.ts';

const AUDIT = '/dashboard/settings/audit';
const KEYS = '/dashboard/settings/api-keys';
const HOOKS = '/dashboard/settings/integrations/webhooks';

let made: TestApp;
let owner: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
  owner = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

/** Actor and action of each row, newest first. */
function rowsOf(html: string): string[] {
  return [...html.matchAll(/data-label="Who">([^<]*)<[\s\S]*?data-label="Action"><span[^>]*>([^<]*)</g)].map(
    ([, who, action]) => `${who}: ${action}`,
  );
}

test('what people and keys change is listed with who, what and a link, newest first', async () => {
  await owner.post(KEYS, { name: 'Import', preset: 'read', rate_limit: '50' });
  const member = await memberSignedIn(made, { email: 'dana@example.com', role: 'member' });
  const payload = { url: 'https://127.0.0.1:8443/y' };
  const request = { method: 'POST', url: '/v1/webhooks', headers: made.auth, payload } as const;
  const { id } = (await made.app.inject(request)).json().data;
  await member.post(`${HOOKS}/${id}/pause`, {}, `${HOOKS}/${id}`);
  const page = (await owner.get(AUDIT)).body;
  expect(rowsOf(page).slice(0, 4)).toEqual([
    'dana@example.com: Webhook paused',
    'API key First key: Webhook created',
    'dana@example.com: Password changed',
    'owner@example.com: API key created',
  ]);
  expect(page).toMatch(/href="\/dashboard\/settings\/integrations\/webhooks\/whk_\w{25}">whk_/);
});

test('it is filtered by who, action and time, and paged', async () => {
  for (let i = 0; i < 27; i++) {
    const headers = made.auth;
    await made.app.inject({
      method: 'POST',
      url: '/v1/keys',
      headers,
      payload: { name: `k${i}`, preset: 'read' },
    });
    made.clock.advance(60_000);
  }
  const keys = await made.store.listKeys(made.tenant.id);
  const key = keys.find(({ name }) => name === 'First key');
  const byKey = (await owner.get(`${AUDIT}?actor=${key?.id}`)).body;
  expect(rowsOf(byKey)).toEqual(Array(25).fill('API key First key: API key created'));
  const [, older = ''] = /href="([^"]*cursor=[^"]*)"/.exec(byKey) ?? [];
  expect(rowsOf((await owner.get(older.replaceAll('&amp;', '&'))).body)).toHaveLength(2);
  expect(rowsOf((await owner.get(`${AUDIT}?action=key.revoke`)).body)).toEqual([]);
  const from = new Date(made.clock.now() - 150_000).toISOString().slice(0, 16);
  expect(rowsOf((await owner.get(`${AUDIT}?from=${from}&action=key.create`)).body).length).toBeLessThan(4);
  const odd = (await owner.get(`${AUDIT}?action=key.paint&from=tomorrow`)).body;
  for (const name of ['action', 'from'])
    expect(odd).toMatch(new RegExp(`Ignored filters:[^<]*&quot;${name}&quot; must be`));
});

test('it is one tenant’s alone', async () => {
  const { auth } = await made.addTenant();
  const payload = { name: 'Theirs', preset: 'read' };
  await made.app.inject({ method: 'POST', url: '/v1/keys', headers: auth, payload });
  expect((await owner.get(AUDIT)).body).not.toContain('title="key.create"');
});
