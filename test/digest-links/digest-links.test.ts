import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFeedbackLinks, FEEDBACK_LINK_MS } from '../../src/accounts/links.ts';
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
