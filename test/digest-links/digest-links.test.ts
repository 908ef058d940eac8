import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFeedbackLinks, FEEDBACK_LINK_MS } from '../../src/accounts/feedback-links.ts';
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
function path(relevant: boolean): string {
  const expiresAt = t.clock.now() + FEEDBACK_LINK_MS;
  return new URL(links.make({ tenantId: t.tenant.id, signalId, relevant, expiresAt })).pathname;
}
const said = async () => (await t.store.getFeedback(t.tenant.id, signalId))?.relevant ?? null;
const form = { 'content-type': 'application/x-www-form-urlencoded' };

test('to follow a link asks and changes nothing, however often', async () => {
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

test('the form takes it down, as browsers send it and without a body, and the last word counts', async () => {
  const url = path(true);
  const answer = await t.app.inject({ method: 'POST', url, headers: form, payload: '' });
  expect(answer.statusCode).toBe(200);
  expect(answer.body).toContain('Noted: relevant.');
  expect(await said()).toBe(true);
  const back = /action="([^"]+)"/.exec(answer.body)?.[1] ?? '';
  expect((await t.app.inject({ method: 'POST', url: back })).statusCode).toBe(200);
  expect(await said()).toBe(false);
});

test('a link counts for 30 days', async () => {
  const url = path(true);
  t.clock.advance(FEEDBACK_LINK_MS - 1);
  expect((await t.app.inject({ url })).statusCode).toBe(200);
  t.clock.advance(1);
  expect((await t.app.inject({ url })).statusCode).toBe(410);
  expect((await t.app.inject({ method: 'POST', url })).statusCode).toBe(410);
  expect(await said()).toBeNull();
});

test('a forged, cut or foreign token is refused', async () => {
  const expiresAt = t.clock.now() + FEEDBACK_LINK_MS;
  const others = createFeedbackLinks(createCursors(Buffer.alloc(32, 8)), 'https://x.example');
  const forged = new URL(others.make({ tenantId: t.tenant.id, signalId, relevant: true, expiresAt }))
    .pathname;
  for (const url of [forged, path(true).slice(0, -3), '/feedback/x']) {
    expect((await t.app.inject({ method: 'POST', url })).statusCode).toBe(404);
  }
  expect(await said()).toBeNull();
});
