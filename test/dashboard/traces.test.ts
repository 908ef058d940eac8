import { afterEach, beforeEach, expect, test } from 'vitest';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { createRecordingTracer } from '../support/tracer.ts';
import { csrfOf, signedIn, type TestBrowser } from './browser-session.ts';

let recorded: ReturnType<typeof createRecordingTracer>;
let made: TestApp;
let browser: TestBrowser;
let _csrf: string;
beforeEach(async () => {
  recorded = createRecordingTracer();
  made = await buildTestApp({ tracer: recorded.tracer, env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
  browser = await signedIn(made, made.tenant.id);
  _csrf = csrfOf((await browser.get('/dashboard')).body);
});
afterEach(() => made.app.close());

async function call(path: string, payload: object) {
  return (await made.app.inject({ method: 'POST', url: path, headers: made.auth, payload })).json().data;
}

/** Sends a form; returns the trace of its request. */
async function send(url: string, fields: Record<string, string>): Promise<string> {
  const answer = await browser.send(`/dashboard${url}`, { _csrf, ...fields });
  expect([url, answer.statusCode]).toEqual([url, 303]);
  const span = recorded.spans.find(({ name }) => name.startsWith('POST /dashboard') && !seen.has(name));
  if (span === undefined) throw new Error('the request was not traced');
  seen.add(span.name);
  return span.traceparent;
}
let seen: Set<string>;
beforeEach(() => {
  seen = new Set(['POST /dashboard/setup']);
});

test('changes made by a form continue the trace of its request', async () => {
  const types = ['pipeline.stage_changed', 'deal.changed', 'campaign.status_changed'];
  await call('/v1/webhooks', { url: 'http://127.0.0.1:9/', event_types: types });
  const { signals } = await call('/v1/signals', aPost());
  const campaign = await call('/v1/campaigns', { name: 'Autumn' });
  await send(`/signals/${signals[0].signal_id}/lead`, {});
  const [lead] = (await made.app.inject({ url: '/v1/leads', headers: made.auth })).json().data;
  const traces = [await send(`/leads/${lead.id}/stage`, { stage: 'contacted' })];
  traces.push(await send(`/leads/${lead.id}/deal`, { amount_minor: '100', currency: 'EUR', status: 'open' }));
  traces.push(await send(`/campaigns/${campaign.id}/status`, { status: 'active' }));

  const { data } = (await made.app.inject({ url: '/v1/deliveries', headers: made.auth })).json();
  const stored = await made.store.tracesOf(data.map(({ id }: { id: string }) => id));
  expect(stored.map(([, trace]) => trace).sort()).toEqual(traces.sort());
});
