import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { signedIn, type TestBrowser } from './browser-session.ts';
import { HOSTILE, isHarmless, postSignal } from './hostile.ts';

let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  made = await buildTestApp();
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

async function found(q: string): Promise<string[]> {
  const { body } = await browser.get(`/dashboard/find?q=${encodeURIComponent(q)}`);
  const [, list = ''] = /data-found>([\s\S]*?)<\/ul>/.exec(body) ?? [];
  return [...list.matchAll(/href="([^"]+)"><span class="badge">(\w+)/g)].map(
    ([, path, kind]) => `${kind} ${path}`,
  );
}

test('anything with a name, text or ID is found, with a link to it', async () => {
  const signal = await postSignal(made, {
    text: 'Can anyone recommend a boiler?',
    prospect: { name: 'Jane Boilerman', email: 'jane@acme.example' },
    company: { name: 'Boiler Works', domain: 'boiler.example' },
  });
  const post = async (url: string, payload: object) =>
    (await made.app.inject({ method: 'POST', url, headers: made.auth, payload })).json().data.id;
  const lead = await post('/v1/leads', { signal_ids: [signal] });
  const hook = await post('/v1/webhooks', { url: 'https://boiler.example/hook' });
  const campaign = await post('/v1/campaigns', { name: 'Büro-Boilers in May' });
  const results = await found('boiler');
  const begun = await found('boil');
  for (const result of results) expect(begun).toContain(result);
  expect(results).toContain(`Signal /dashboard/signals/${signal}`);
  expect(results).toContain(`Webhook /dashboard/settings/integrations/webhooks/${hook}`);
  expect(results.some((one) => one.startsWith('Company /dashboard/companies/cmp_'))).toBe(true);
  expect(results).toContain(`Campaign /dashboard/campaigns/${campaign}`);
  expect(await found('buro-boil')).toEqual([`Campaign /dashboard/campaigns/${campaign}`]);
  expect(await found('boilerman')).toContain(`Lead /dashboard/leads/${lead}`);
  expect(await found('webhook lo')).toEqual(['Page /dashboard/webhook-logs']);
  expect(await found(lead)).toContain(`Lead /dashboard/leads/${lead}`);
  expect((await browser.get('/dashboard/find?q=zzzz')).body).toContain('No results');
});

test('nothing of another tenant is found, and text by strangers is escaped', async () => {
  const { auth } = await made.addTenant();
  await postSignal(
    { app: made.app, auth },
    { text: 'A boiler please', company: { name: 'Boiler', domain: 'b.example' } },
  );
  expect(await found('boiler')).toEqual([]);
  await postSignal(made, { text: `${HOSTILE} boiler`, prospect: { name: HOSTILE } });
  isHarmless((await browser.get('/dashboard/find?q=boiler')).body);
  isHarmless((await browser.get(`/dashboard/find?q=${encodeURIComponent(HOSTILE)}`)).body);
});

test('a search that is cut within a character is answered', async () => {
  const { statusCode, body } = await browser.get(`/dashboard/find?q=${'x'.repeat(199)}%F0%9F%98%80`);
  expect(statusCode).toBe(200);
  expect(body).toContain('x'.repeat(199));
});
