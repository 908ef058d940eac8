import { afterEach, beforeEach, expect, test } from 'vitest';
import { subjectsOf } from '../../src/dashboard/webhook-logs.ts';
import type { Store } from '../../src/store/store.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { workForATurn } from '../support/turn.ts';
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

test('changes by people and keys are listed with actor, action and a link, newest first', async () => {
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
  expect(page).toMatch(/href="[^"]*\/webhooks\/whk_\w{25}" title="whk_\w{25}">127\.0\.0\.1:8443</);
});

test('the subject of an entry is shown by name, with a link while it exists', async () => {
  async function call(method: 'POST' | 'DELETE' | 'PATCH', url: string, payload?: object) {
    const answer = await made.app.inject({ method, url, headers: made.auth, ...(payload && { payload }) });
    return answer.statusCode === 204 ? null : answer.json().data;
  }
  const { signals } = await call('POST', '/v1/signals', aPost());
  await call('POST', '/v1/leads', { signal_ids: [signals[0].signal_id] });
  const { id } = await call('POST', '/v1/sources', {
    kind: 'hackernews',
    name: 'Asks for a CRM',
    query: 'crm',
  });
  await call('POST', '/v1/campaigns', { name: 'Spring' });
  const feed = await call('POST', '/v1/webhooks', { mode: 'pull' });
  await call('DELETE', `/v1/webhooks/${feed.id}`);
  const page = (await owner.get(AUDIT)).body;
  expect(page).toContain(`href="/dashboard/sources/${id}" title="${id}">Asks for a CRM<`);
  expect(page).toMatch(/title="cam_\w{25}">Spring</);
  expect(page).not.toMatch(/>(?:sig|led|src|cam|ten|usr)_/);
  expect(page).toContain(`<span class="mono soft">${feed.id}</span>`);
});

test('the list can be filtered by actor, action and time, and is paginated', async () => {
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

test('it shows only the entries of its own tenant', async () => {
  const { auth } = await made.addTenant();
  const payload = { name: 'Theirs', preset: 'read' };
  await made.app.inject({ method: 'POST', url: '/v1/keys', headers: auth, payload });
  expect((await owner.get(AUDIT)).body).not.toContain('title="key.create"');
});

test('the profiles of entries are read in turns of the event loop', async () => {
  for (let i = 0; i < 4; i++) {
    const payload = { name: `Profile ${i}` };
    await made.app.inject({ method: 'POST', url: '/v1/icps', headers: made.auth, payload });
  }
  const { getProfile } = made.store;
  const turns: number[] = [];
  made.store.getProfile = (tenantId, id) => {
    turns.push(workForATurn());
    return getProfile(tenantId, id);
  };
  expect((await owner.get(AUDIT)).body).toContain('>Profile 3<');
  expect(turns.length).toBeGreaterThanOrEqual(4);
  expect(new Set(turns).size).toBe(turns.length);
});

test('the leads that events are about are read in turns of the event loop', async () => {
  const turns: number[] = [];
  const store: Store = {
    ...made.store,
    async getLead() {
      turns.push(workForATurn());
      return null;
    },
  };
  await subjectsOf(store, made.tenant.id, ['led_1', 'led_2', 'led_3']);
  expect(turns).toHaveLength(3);
  expect(new Set(turns).size).toBe(3);
});
