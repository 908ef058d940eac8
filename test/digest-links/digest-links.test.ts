import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { createFeedbackLinks, FEEDBACK_LINK_MS } from '../../src/accounts/links.ts';
import { LOAD_LIMITS } from '../../src/http/load.ts';
import { createCursors } from '../../src/lib/cursor.ts';
import { aPost } from '../support/app.ts';
import { buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';

let t: WebhookApp;
let signalId: string;
beforeEach(async () => {
  t = await buildWebhookApp();
  const made = await t.call('POST', '/v1/signals', aPost({ text: 'Looking for a <new> CRM this month' }));
  signalId = made.json().data.signals[0].signal_id;
});
afterEach(() => t.app.close());

const links = createFeedbackLinks(createCursors(Buffer.alloc(32, 7)), 'https://x.example');
function path(said: boolean | 'add'): string {
  const act = said === 'add' ? said : said ? 'relevant' : 'not_relevant';
  const expiresAt = t.clock.now() + FEEDBACK_LINK_MS;
  return new URL(links.make({ tenantId: t.tenant.id, signalId, act, expiresAt })).pathname;
}
const said = async () => (await t.store.getFeedback(t.tenant.id, signalId))?.relevant ?? null;
const form = { 'content-type': 'application/x-www-form-urlencoded' };

test('following a link asks for confirmation and changes nothing, however often', async () => {
  for (const method of ['GET', 'HEAD', 'GET'] as const) {
    const answer = await t.app.inject({ method, url: path(true) });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.headers['referrer-policy']).toBe('no-referrer');
    expect(answer.headers['content-security-policy']).toContain("default-src 'none'");
  }
  const page = (await t.app.inject({ url: path(true) })).body;
  expect(page).toContain('Looking for a &lt;new&gt; CRM');
  expect(page).toContain('<form method="post">');
  expect(await said()).toBeNull();
});

test('the form records feedback, as sent by browsers or without a body, and the last one counts', async () => {
  const url = path(true);
  const answer = await t.app.inject({ method: 'POST', url, headers: form, payload: '' });
  expect(answer.statusCode).toBe(200);
  expect(answer.body).toContain('Marked as relevant.');
  expect(await said()).toBe(true);
  const back = /action="([^"]+)"/.exec(answer.body)?.[1] ?? '';
  expect((await t.app.inject({ method: 'POST', url: back })).statusCode).toBe(200);
  expect(await said()).toBe(false);
});

test('a link is valid for 30 days', async () => {
  const url = path(true);
  t.clock.advance(FEEDBACK_LINK_MS - 1);
  expect((await t.app.inject({ url })).statusCode).toBe(200);
  t.clock.advance(1);
  expect((await t.app.inject({ url })).statusCode).toBe(410);
  expect((await t.app.inject({ method: 'POST', url })).statusCode).toBe(410);
  expect(await said()).toBeNull();
});

test('a forged, truncated or foreign token is refused', async () => {
  const expiresAt = t.clock.now() + FEEDBACK_LINK_MS;
  const others = createFeedbackLinks(createCursors(Buffer.alloc(32, 8)), 'https://x.example');
  const forged = new URL(others.make({ tenantId: t.tenant.id, signalId, act: 'relevant', expiresAt }))
    .pathname;
  for (const url of [forged, path(true).slice(0, -3), '/feedback/x']) {
    expect((await t.app.inject({ method: 'POST', url })).statusCode).toBe(404);
  }
  expect(await said()).toBeNull();
});

test('a link adds the signal to the pipeline, once, after a confirmation', async () => {
  const url = path('add');
  expect((await t.app.inject({ url })).body).toContain('Add this signal to the pipeline?');
  const leads = async () => (await t.call('GET', '/v1/leads')).json().data;
  expect(await leads()).toEqual([]);
  for (let again = 0; again < 2; again++) {
    const answer = await t.app.inject({ method: 'POST', url, headers: form, payload: '' });
    expect([answer.statusCode, answer.body.includes('Added to the pipeline.')]).toEqual([200, true]);
  }
  expect(await leads()).toHaveLength(1);
});

test('one click unsubscribes only its own recipient, as posted by mail clients and browsers', async () => {
  const { id } = t.tenant;
  const [owner] = await t.store.listMembers(id);
  const userId = owner?.id ?? '';
  const url = new URL(links.makeUnsubscribe({ tenantId: id, userId })).pathname;
  expect((await t.app.inject({ url })).body).toContain('Unsubscribe from the digest?');
  expect(await t.store.digestReaders(id)).toEqual([userId]);
  const boundary = 'x';
  const part = `--${boundary}\r\ncontent-disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--${boundary}--`;
  for (const [type, payload] of [
    ['application/x-www-form-urlencoded', 'List-Unsubscribe=One-Click'],
    [`multipart/form-data; boundary=${boundary}`, part],
  ] as const) {
    await t.store.setDigestReader(id, userId, true);
    const answer = await t.app.inject({ method: 'POST', url, headers: { 'content-type': type }, payload });
    expect(answer.statusCode).toBe(200);
    expect(await t.store.digestReaders(id)).toEqual([]);
  }
  expect((await t.app.inject({ method: 'POST', url: `${url}x` })).statusCode).toBe(404);
});

test('requests per minute of a client address are limited, and refused with a page that says when to try again', async () => {
  const few = await buildWebhookApp({ dashboardLimits: { session: 1, client: 2, tenant: () => 1 } });
  onTestFinished(() => few.app.close());
  const get = (url: string) => few.app.inject({ url });
  expect([(await get('/feedback/x')).statusCode, (await get('/digest/unsubscribe/x')).statusCode]).toEqual([
    404, 404,
  ]);
  const refused = await few.app.inject({ method: 'POST', url: '/feedback/x' });
  expect(refused.statusCode).toBe(429);
  expect(refused.headers).toMatchObject({ 'retry-after': '60', 'content-type': 'text/html; charset=utf-8' });
  expect(refused.body).toContain(
    'The limit of your network address of 2 requests per 60 seconds was exceeded.',
  );
  few.clock.advance(60_000);
  expect((await get('/feedback/x')).statusCode).toBe(404);
});

test('links opened together are read in turns of the event loop, and refused beyond what is admitted', async () => {
  const readIn: number[] = [];
  const turn = () => performance.nodeTiming.uvMetricsInfo.loopCount;
  const many = await buildWebhookApp({
    loadLimits: { ...LOAD_LIMITS, least: 0, most: 80 },
    wrapStore: (store) => ({
      ...store,
      getSignal: async (tenantId, id) => {
        readIn.push(turn());
        many.clock.advance(1);
        return store.getSignal(tenantId, id);
      },
    }),
  });
  onTestFinished(() => many.app.close());
  const expiresAt = many.clock.now() + FEEDBACK_LINK_MS;
  const url = new URL(
    links.make({ tenantId: many.tenant.id, signalId: 'sig_x', act: 'relevant', expiresAt }),
  );
  const answers = await Promise.all(Array.from({ length: 60 }, () => many.app.inject(url.pathname)));
  const count = (status: number) => answers.filter(({ statusCode }) => statusCode === status).length;
  expect([count(404), count(503)]).toEqual([40, 20]);
  expect(new Set(readIn).size).toBe(40);
});
