import { afterEach, beforeEach, expect, test } from 'vitest';
import { anEndpoint } from '../support/store.ts';
import { buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';
import { signedIn, type TestBrowser } from './browser-session.ts';

const LOGS = '/dashboard/webhook-logs';

let made: WebhookApp;
let browser: TestBrowser;
let webhookId: string;
let bodiesRead = 0;
beforeEach(async () => {
  bodiesRead = 0;
  made = await buildWebhookApp({
    wrapStore: (store) => ({
      ...store,
      getDelivery: (...of) => {
        bodiesRead++;
        return store.getDelivery(...of);
      },
    }),
  });
  webhookId = (await made.addWebhook()).id;
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

test('one delivery, several, or all that ended since a given time are replayed, and the screen shows how many', async () => {
  const ids = await made.addDeliveries(4);
  const ended = { status: 'dead', expiresAt: made.clock.now() + 1_000_000 } as const;
  for (const id of ids) await made.attempt(id, ended);
  const [first = '', second = '', third = ''] = ids;
  const one = await browser.post(`${LOGS}/${first}/replay`, {}, `${LOGS}/${first}`);
  expect(one.headers.location).toBe(`${LOGS}/${first}?done=replayed`);
  const some = await browser.post(`${LOGS}/replay`, { id: [second, third] }, LOGS);
  expect(some.headers.location).toBe(`${LOGS}?done=replayed&count=2`);
  expect((await browser.get(some.headers.location ?? '')).body).toContain('2 deliveries are being resent.');
  const all = (fields: Record<string, string>) => browser.post(`${LOGS}/replay-all`, fields, LOGS);
  expect((await all({ status: 'dead', from: '2027-01-01T00:00' })).headers.location).toContain(
    'replayed-none',
  );
  const since = { status: 'dead', from: '2025-12-31T00:00', webhook_id: webhookId };
  expect((await all(since)).headers.location).toBe(`${LOGS}?done=replayed&count=1`);
  expect((await browser.get(`${LOGS}?done=replayed&count=<i>`)).body).toContain(
    'The delivery is being resent.',
  );
  expect((await all({ ...since, webhook_id: 'whk_none' })).statusCode).toBe(404);
  expect(made.nudged.length).toBeGreaterThanOrEqual(4);
});

test('of more than a hundred webhooks, those of the logs are chosen by a part of their label or URL', async () => {
  const [id = ''] = await made.addDeliveries(1);
  await made.attempt(id, { status: 'dead', expiresAt: made.clock.now() + 1_000_000 });
  expect((await browser.get(LOGS)).body).toContain(`<option value="${webhookId}">`);
  const [first] = await made.store.listEndpoints(made.tenant.id);
  if (first === undefined) throw new Error('no webhook');
  for (let n = 0; n < 110; n++) {
    const settings = { ...first.settings, label: `Zürich ${n}`, url: `https://receiver.example/${n}` };
    await made.store.createEndpoint(anEndpoint(made.tenant.id, { settings }), null);
  }
  const { body } = await browser.get(LOGS);
  expect(body).not.toContain('Zürich');
  expect(body.match(/<input type="text" id="[\w-]+" name="webhook_id"/g)).toHaveLength(2);
  expect(body).toContain(id);

  const host = new URL(first.settings.url ?? '').host;
  const one = (await browser.get(`${LOGS}?webhook_id=${host}`)).body;
  expect(one).toContain('Showing deliveries to');
  expect(one).toContain(id);
  const several = (await browser.get(`${LOGS}?webhook_id=zurich&event=signal.detected`)).body;
  const places = [...several.matchAll(/href="([^"]+)">Zürich \d+</g)].map((match) => match[1] ?? '');
  expect(places).toHaveLength(10);
  expect(places[0]).toMatch(/^\/dashboard\/webhook-logs\?webhook_id=whk_\w+&amp;event=signal\.detected$/);
  expect(several).toContain('More than these match');
  expect(several).not.toContain(id);
  const all = (webhook_id: string) =>
    browser.post(`${LOGS}/replay-all`, { status: 'dead', from: '2025-12-31T00:00', webhook_id }, LOGS);
  expect((await all('Zürich')).body).toContain('Several webhooks');
  expect((await all(host)).headers.location).toBe(`${LOGS}?done=replayed&count=1`);
});

test('a replay returns to the list it was started from, and asks before resending delivered ones', async () => {
  const [first = '', second = ''] = await made.addDeliveries(2);
  await made.attempt(first, { status: 'dead', expiresAt: made.clock.now() + 1_000_000 });
  await made.attempt(second, { status: 'delivered' });
  const statusOf = async (id: string) => (await made.store.getDelivery(made.tenant.id, id))?.status;
  const list = '/dashboard/dead-letters?event=signal.detected';
  expect((await browser.get(list)).body).toContain(`name="back" value="${list}"`);
  const none = await browser.post(`${LOGS}/replay`, { back: list }, LOGS);
  expect(none.headers.location).toBe(`${list}&done=none-selected`);
  expect((await browser.get(none.headers.location ?? '')).body).toContain('No deliveries were selected.');

  const both = { id: [first, second], back: list };
  const asked = await browser.post(`${LOGS}/replay`, both, LOGS);
  expect(asked.statusCode).toBe(200);
  expect(asked.body).toContain('One of them was already delivered.');
  expect(bodiesRead).toBe(0);
  expect(await statusOf(first)).toBe('dead');
  const sure = await browser.post(`${LOGS}/replay`, { ...both, sure: 'on' }, LOGS);
  expect(sure.headers.location).toBe(`${list}&done=replayed&count=2`);

  await made.attempt(second, { status: 'delivered' }, 2);
  const one = await browser.post(`${LOGS}/${second}/replay`, {}, `${LOGS}/${second}`);
  expect(one.body).toContain('It was already delivered.');
  expect(await statusOf(second)).toBe('delivered');
  const elsewhere = await browser.post(`${LOGS}/replay`, { back: 'https://evil.example/' }, LOGS);
  expect(elsewhere.headers.location).toBe(`${LOGS}?done=none-selected`);
});

test('a row names its subject, and the log can show the deliveries of one signal', async () => {
  const [first = '', second = ''] = await made.addDeliveries(2);
  const subject = (await made.store.getDelivery(made.tenant.id, first))?.subjectId ?? '';
  const all = (await browser.get(LOGS)).body;
  expect(all).toMatch(new RegExp(`webhook-logs/${first}">[^<]{10,}</a><span class="sub">New signal`));
  const { body } = await browser.get(`${LOGS}?subject_id=${subject}`);
  expect(body).toContain(`href="/dashboard/webhook-logs/${first}"`);
  expect(body).not.toContain(`href="/dashboard/webhook-logs/${second}"`);
  expect(body).toContain(`Showing deliveries about <a href="/dashboard/signals/${subject}"`);
  expect((await browser.get(`${LOGS}/${first}`)).body).toContain(`${LOGS}?subject_id=${subject}`);
  expect((await browser.get(`${LOGS}/events`)).body).toMatch(
    new RegExp(`About <a href="/dashboard/signals/${subject}">[^<]{10,}</a>`),
  );
});

test('the log opens even if a pull endpoint has no label', async () => {
  const payload = { mode: 'pull' };
  const request = { method: 'POST', url: '/v1/webhooks', headers: made.auth, payload } as const;
  expect((await made.app.inject(request)).statusCode).toBe(201);
  for (const path of [LOGS, `${LOGS}/events`, '/dashboard/dead-letters']) {
    expect([path, (await browser.get(path)).statusCode]).toEqual([path, 200]);
  }
});

test('the screen of a delivery says that it shows only the newest attempts', async () => {
  const [id = ''] = await made.addDeliveries(1);
  const heading = async () =>
    /<h2>([^<]*attempts?)<\/h2>/.exec((await browser.get(`${LOGS}/${id}`)).body)?.[1];
  for (let number = 1; number <= 50; number++) {
    made.clock.advance(1);
    await made.attempt(id, { status: 'retrying', at: made.clock.now() + 1 }, number);
  }
  expect(await heading()).toBe('50 attempts');
  await made.attempt(id, { status: 'delivered' }, 51);
  expect(await heading()).toBe('The newest 50 of 51 attempts');
  // The body of up to 256 KB is shown once, not with each attempt.
  const { body } = await browser.get(`${LOGS}/${id}`);
  expect(body.match(/The same body as in the latest attempt/g)).toHaveLength(49);
  expect(body.match(/<pre tabindex="0">\{&quot;/g)).toHaveLength(1);
});
