import { afterEach, beforeEach, expect, test } from 'vitest';
import type { EventType } from '../../src/model/event.ts';
import type { SendTest } from '../../src/webhooks/test-delivery.ts';
import { aPost, buildTestApp, type TestApp } from '../support/app.ts';
import { deliverToNobody } from '../support/fake-receiver.ts';
import { anEndpoint } from '../support/store.ts';
import { signedIn, type TestBrowser } from './browser-session.ts';

const LIST = '/dashboard/settings/integrations/webhooks';
const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;
const XSS = '<script>alert(1)</script>';

/** A receiver that responds with markup. */
const answering =
  (status: number): SendTest =>
  async ({ deliveryId }) => ({
    kind: 'sent',
    record: {
      id: `att_${deliveryId}`,
      attempt: 1,
      startedAt: Date.UTC(2026, 0, 1),
      durationMs: 12,
      sent: null,
      response: { status, headers: { server: XSS }, body: XSS },
      error: status < 300 ? null : { code: 'http_status', message: `It answered ${status}.` },
      timings: { connectedMs: 3, headersMs: 10 },
    },
  });

let status = 200;
let made: TestApp;
let browser: TestBrowser;
beforeEach(async () => {
  status = 200;
  made = await buildTestApp({
    env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' },
    sendTest: (request) => answering(status)(request),
  });
  browser = await signedIn(made, made.tenant.id);
});
afterEach(() => made.app.close());

const FORM = {
  url: 'http://127.0.0.1:9/hook',
  label: 'CRM',
  event_types: ['signal.detected', 'signal.new_hot'],
  max_retries: '5',
  retry_interval_seconds: '60',
  backoff: 'fixed',
  timeout_seconds: '10',
  rate_limit_per_minute: '60',
  min_score: '40',
  dead_letter: 'on',
  format: 'custom',
  fields: ['signal_id', 'company'],
  flatten: 'on',
  custom: 'team = sales\npriority = 2\ncode = "2"',
};

test('an event for hundreds of webhooks shows fifty of them, and links to the list of all', async () => {
  const { store, tenant } = made;
  const { settings } = anEndpoint(tenant.id);
  for (const event_types of [['signal.detected'], ['digest.ready']] satisfies EventType[][]) {
    const of = { settings: { ...settings, event_types } };
    for (let n = 0; n < 120; n++) await store.createEndpoint(anEndpoint(tenant.id, of), null);
  }
  const payload = aPost({ text: 'Looking for a CRM that our team can use this week.' });
  const answer = await made.app.inject({ method: 'POST', url: '/v1/signals', headers: made.auth, payload });
  const [{ signal_id: id }] = answer.json().data.signals;
  for (const path of ['/dashboard/webhook-logs/events?type=signal.detected', `/dashboard/signals/${id}`]) {
    const { body } = await browser.get(path);
    expect(body.match(/webhook-logs\/dlv_/g)).toHaveLength(50);
    expect(body).toContain('Not sent to 120 webhooks');
    expect(body).toContain('And 70 others.');
    const [, all = ''] = /"([^"]+event_id=evt_\w+)">View all 120</.exec(body) ?? [];
    expect((await browser.get(all)).body).toContain('badge pending');
  }
});

async function anId(): Promise<string> {
  const answer = await browser.post(`${LIST}/new`, FORM);
  expect(answer.statusCode).toBe(200);
  const [endpoint] = await made.store.listEndpoints(made.tenant.id);
  return endpoint?.id ?? '';
}

test('a webhook is created with every setting, its secret is shown once, and its form shows what was saved', async () => {
  expect((await browser.get(LIST)).body).toContain('No webhooks yet');
  const created = await browser.post(`${LIST}/new`, FORM);
  expect(created.body).toMatch(/whsec_[A-Za-z0-9+/=]{40,}/);
  const [endpoint] = await made.store.listEndpoints(made.tenant.id);
  expect(endpoint?.settings).toMatchObject({
    label: 'CRM',
    max_retries: 5,
    retry_interval_seconds: 60,
    backoff: 'fixed',
    auto_resume: false,
    dead_letter: true,
    min_score: 40,
    payload_format: {
      include: ['signal_id', 'company'],
      flatten: true,
      custom: { team: 'sales', priority: 2, code: '2' },
    },
  });
  const page = await browser.get(`${LIST}/${endpoint?.id}`);
  expect(page.body).not.toContain('whsec_');
  expect(page.body).toContain('code = &quot;2&quot;');
  expect(page.body).toMatch(/name="auto_resume"(?! checked)/);
  const saved = await browser.post(`${LIST}/${endpoint?.id}`, { ...FORM, label: 'Sales' });
  expect(saved.headers.location).toBe(`${LIST}/${endpoint?.id}?done=saved`);
  const after = await made.store.getEndpoint(made.tenant.id, endpoint?.id ?? '');
  expect(after?.settings).toEqual({ ...endpoint?.settings, label: 'Sales' });
  expect(made.changed).toContain(endpoint?.id);
});

test('the form sets mode, headers, order and earlier events, and headers are kept until they are replaced', async () => {
  const own = {
    ordered: 'on',
    headers: 'X-Team: sales-north\nAuthorization: Bearer abcd1234',
    backfill_days: '7',
  };
  await browser.post(`${LIST}/new`, { ...FORM, ...own });
  const stored = async () => (await made.store.listEndpoints(made.tenant.id))[0];
  const shown = { 'X-Team': 'orth', Authorization: '1234' };
  expect(await stored()).toMatchObject({ mode: 'push', ordered: true, headers: shown });
  expect((await stored())?.backfillFrom).toBe(made.clock.now() - 7 * 86_400_000);
  const page = `${LIST}/${(await stored())?.id}`;
  expect((await browser.get(page)).body).toContain('Currently set: X-Team (…orth), Authorization (…1234)');
  await browser.post(page, { ...FORM, headers: '' });
  expect(await stored()).toMatchObject({ ordered: false, headers: shown });
  const wrong = await browser.post(page, { ...FORM, headers: 'Host: evil.example' });
  expect([wrong.statusCode, wrong.body.includes('signature headers cannot be set')]).toEqual([400, true]);
  await browser.post(page, { ...FORM, headers: 'X-Team: sales-south' });
  expect((await stored())?.headers).toEqual({ 'X-Team': 'outh' });
  await browser.post(page, { ...FORM, no_headers: 'on' });
  expect((await stored())?.headers).toEqual({});
});

test('a pull endpoint has no URL, and its screen shows where its feed is', async () => {
  const created = await browser.post(`${LIST}/new`, { ...FORM, mode: 'pull', url: '', format: 'standard' });
  const [endpoint] = await made.store.listEndpoints(made.tenant.id);
  expect([created.statusCode, endpoint?.mode]).toEqual([200, 'pull']);
  expect(created.body).toContain(`GET /v1/webhooks/${endpoint?.id}/feed`);
});

test('after the secret is regenerated, the old one also signs for the requested number of hours', async () => {
  const id = await anId();
  const page = `${LIST}/${id}`;
  await browser.post(`${page}/secret`, { grace_hours: '24' }, page);
  const endpoint = await made.store.getEndpoint(made.tenant.id, id);
  expect(endpoint?.previousSecretUntil).toBe(made.clock.now() + 24 * 3_600_000);
  expect((await browser.get(page)).body).toContain('The previous secret also signs');
  expect((await browser.post(`${page}/secret`, { grace_hours: '49' }, page)).statusCode).toBe(400);
});

test('reloading the URL of a submitted form redirects to the screen of the form', async () => {
  const id = await anId();
  for (const [path, screen] of [
    [`${LIST}/${id}/test`, `${LIST}/${id}`],
    ['/dashboard/settings/account/second-factor', '/dashboard/settings/account'],
    ['/dashboard/settings/account/second-factor/confirm', '/dashboard/settings/account'],
  ] as const) {
    const answer = await browser.get(path);
    expect([answer.statusCode, answer.headers.location]).toEqual([303, screen]);
  }
});

test('a refused form keeps the input, and shows where the errors are', async () => {
  const wrong = { ...FORM, url: 'http://10.0.0.1/x', label: 'My label' };
  const refused = await browser.post(`${LIST}/new`, wrong);
  expect(refused.statusCode).toBe(400);
  expect(refused.body).toContain('value="http://10.0.0.1/x" aria-invalid="true"');
  expect(refused.body).toContain('value="My label"');
  const many = await browser.post(`${LIST}/new`, { ...FORM, max_retries: '11', retry_interval_seconds: 'x' });
  expect(many.body).toContain('id="fault-max_retries"');
  expect(many.body).toContain('id="fault-retry_interval_seconds"');
  expect(await made.store.listEndpoints(made.tenant.id)).toEqual([]);
});

test('the preview shows the output of a format, and stores nothing', async () => {
  const shown = await browser.post(`${LIST}/new`, { ...FORM, act: 'preview' });
  expect(shown.body).toContain('Preview of a sample');
  expect(shown.body).toContain('&quot;company_domain&quot;');
  expect(shown.body).toContain('&quot;team&quot;: &quot;sales&quot;');
  const bad = await browser.post(`${LIST}/new`, { ...FORM, act: 'preview', custom: 'signature = 1' });
  expect([bad.statusCode, bad.body.includes('id="fault-payload_format"')]).toEqual([400, true]);
  expect(await made.store.listEndpoints(made.tenant.id)).toEqual([]);
});

test('a test delivery shows Delivered with the status, or the error, and never renders the response as markup', async () => {
  const id = await anId();
  const good = await browser.post(`${LIST}/${id}/test`, {}, `${LIST}/${id}`);
  expect(good.body).toMatch(/role="status">Delivered[^<]*200/);
  expect(good.body).toContain('&lt;script&gt;alert(1)');
  expect(good.body).not.toContain(XSS);
  status = 500;
  const bad = await browser.post(`${LIST}/${id}/test`, {}, `${LIST}/${id}`);
  expect(bad.body).toMatch(/role="status">Failed[^<]*500/);
  expect(bad.body).toMatch(/<pre tabindex="0">500\n/);
});

test('a webhook can be paused, resumed, given a new secret, and deleted', async () => {
  const id = await anId();
  const page = `${LIST}/${id}`;
  expect((await browser.post(`${page}/pause`, {}, page)).headers.location).toBe(`${page}?done=paused`);
  const paused = await browser.get(`${page}?done=paused`);
  expect(paused.body).toContain('Paused manually');
  expect(paused.body).toMatch(/>Resume<\/button>/);
  await browser.post(`${page}/resume`, {}, page);
  expect(made.nudged).toContainEqual({ endpointId: id, tenantId: made.tenant.id });
  const before = await made.store.getEndpoint(made.tenant.id, id);
  const renewed = await browser.post(`${page}/secret`, {}, page);
  expect(renewed.body).toMatch(/whsec_/);
  const after = await made.store.getEndpoint(made.tenant.id, id);
  expect(after?.status).toBe('active');
  expect(after?.secretBox).not.toEqual(before?.secretBox);
  await browser.post(`${page}/delete`, {}, page);
  expect((await browser.get(page)).statusCode).toBe(404);
});

test('the logs filter deliveries and show the webhook of each, and events show why a webhook got nothing', async () => {
  const id = await anId();
  await browser.post(`${LIST}/new`, { ...FORM, label: 'Reviews', signal_types: 'review' });
  const payload = { ...aPost(), prospect: { name: XSS } };
  await made.app.inject({ method: 'POST', url: '/v1/signals', headers: made.auth, payload });
  const logs = await browser.get('/dashboard/webhook-logs');
  expect(logs.body.match(/badge pending/g)?.length).toBeGreaterThanOrEqual(1);
  const [, first = ''] = /webhook-logs\/(dlv_\w+)"/.exec(logs.body) ?? [];
  const filtered = `/dashboard/webhook-logs?webhook_id=${id}&status=pending&from=2025-12-31T00:00`;
  expect((await browser.get(filtered)).body).toContain(first);
  expect((await browser.get('/dashboard/webhook-logs?status=dead')).body).toContain('No deliveries match');
  expect((await browser.get('/dashboard/webhook-logs?from=2027-01-01T00:00')).body).toContain(
    'No deliveries match',
  );
  expect((await browser.get('/dashboard/dead-letters')).body).toContain('No dead letters');
  const events = await browser.get('/dashboard/webhook-logs/events?type=signal.detected');
  expect(events.body).toContain('filtered out by signal type');
  const one = await browser.get(`/dashboard/webhook-logs/${first}`);
  expect(one.body).toContain('Waiting for its first attempt.');
  const early = await browser.post(
    `/dashboard/webhook-logs/replay`,
    { id: first },
    '/dashboard/webhook-logs',
  );
  expect(early.headers.location).toContain('done=replayed-none');
});

test("another tenant's webhooks are not found on any screen or for any change", async () => {
  const { tenant } = await made.addTenant();
  const other = anEndpoint(tenant.id);
  await made.store.createEndpoint(other, null);
  const page = `${LIST}/${other.id}`;
  expect((await browser.get(page)).statusCode).toBe(404);
  for (const act of ['', '/pause', '/resume', '/secret', '/test', '/replay', '/delete']) {
    expect([act, (await browser.post(page + act, FORM, LIST)).statusCode]).toEqual([act, 404]);
  }
  expect((await browser.get('/dashboard/webhook-logs/dlv_other')).statusCode).toBe(404);
  expect((await browser.post('/dashboard/webhook-logs/dlv_x/replay', {}, LIST)).statusCode).toBe(404);
  expect((await made.store.getEndpoint(tenant.id, other.id))?.status).toBe('active');
});

test('each webhook shows its success rate and speed for 24 hours and 30 days, and a chart of its attempts', async () => {
  const id = await anId();
  const [endpoint] = await made.store.listEndpoints(made.tenant.id);
  expect((await browser.get(`${LIST}/${id}`)).body).not.toContain('Success rate and response times');
  expect((await browser.get(LIST)).body).toContain(
    '<td data-label="Last 24 hours"><span class="none">–</span></td>',
  );
  let posted = 0;
  const deliver = async (reply: 'success' | 'failure') => {
    const payload = aPost({
      platform: { name: 'reddit' },
      external_id: `x${posted++}`,
      text: `${aPost().text} ${posted}`,
    });
    await made.app.inject({ method: 'POST', url: '/v1/signals', headers: made.auth, payload });
    await deliverToNobody(made, { endpointId: id, secret: SECRET, reply });
  };
  await deliver('failure');
  made.clock.advance(2 * 86_400_000);
  await deliver('success');
  const list = (await browser.get(LIST)).body;
  expect(list).toMatch(/<td data-label="Last 24 hours">100%, p95 about \d+ ms<\/td>/);
  expect(list).toMatch(/<td data-label="Last 30 days">50%, p95 about \d+ ms<\/td>/);
  const { body } = await browser.get(`${LIST}/${endpoint?.id}`);
  expect(body).toMatch(/<dt>Last 24 hours<\/dt><dd>100%, p95 about \d+ ms, 2 attempts<\/dd>/);
  expect(body).toContain('Succeeded: 2 in total, at most 2; Failed: 2 in total, at most 2');
});

test('a list of many webhooks is shown page by page, oldest first', async () => {
  for (let n = 0; n < 30; n++) {
    const { settings } = anEndpoint(made.tenant.id);
    const endpoint = anEndpoint(made.tenant.id, { settings: { ...settings, label: `Hook ${n}.` } });
    await made.store.createEndpoint({ ...endpoint, createdAt: made.clock.now() + n }, null);
  }
  const counted = new Set<string>();
  const { tallyAttempts } = made.store;
  made.store.tallyAttempts = (tenantId, of) => {
    counted.add(of.endpointId);
    return tallyAttempts(tenantId, of);
  };
  const { body } = await browser.get(LIST);
  expect(counted.size).toBe(25); // a tenant may have thousands
  expect(body).toContain('Hook 24.');
  expect(body).not.toContain('Hook 25.');
  const [, next = ''] = /href="([^"]+)">Newer</.exec(body) ?? [];
  const rest = (await browser.get(next)).body;
  expect(rest).toContain('Hook 29.');
  expect(rest).not.toContain('Hook 24.');
});
