import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { readRows } from '../support/table-rows.ts';

const folder = mkdtempSync(join(tmpdir(), 'signalpost-campaigns-'));
const file = join(folder, 'signalpost.db');

let t: TestApp;
beforeEach(async () => {
  t = await buildTestApp({ file, env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
});
afterEach(async () => {
  await t.app.close();
  rmSync(folder, { recursive: true });
});

async function call(method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object) {
  const answer = await t.app.inject({
    method,
    url,
    headers: t.auth,
    ...(payload === undefined ? {} : { payload }),
  });
  expect(answer.statusCode).toBeLessThan(300);
  return answer.body === '' ? null : answer.json().data;
}

const at = '2026-01-01T10:00:00Z';

test('erasing a person keeps the statistics and leaves no trace of who it was', async () => {
  await call('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/', event_types: ['reply.classified'] });
  const { id } = await call('POST', '/v1/campaigns', { name: 'Spring', status: 'active' });
  const lead = await call('POST', '/v1/leads', { email: 'ann@acme.com', enrich: false });
  const record = (...events: object[]) =>
    call('POST', `/v1/campaigns/${id}/events`, {
      events: events.map((event) => ({ type: 'sent', occurred_at: at, ...event })),
    });
  await record(
    { event_id: 'ann@acme.com/1', email: 'ann@acme.com' },
    { event_id: '2', lead_id: lead.id, email: 'ann@home.net', type: 'delivered' },
    // Linked to her only through the campaign.
    { event_id: '3', email: 'ann@home.net', type: 'replied', reply_class: 'interested' },
    { event_id: '4', email: 'bob@acme.com' },
  );
  const stats = await call('GET', `/v1/campaigns/${id}/stats`);
  expect(stats.counts.sent).toEqual({ total: 2, unique: 2 });

  await call('DELETE', `/v1/leads/${lead.id}`);

  expect(await call('GET', `/v1/campaigns/${id}/stats`)).toEqual(stats);
  const { audit, events, ...others } = readRows(file);
  // The event is kept under an id that no longer resolves to anything.
  const happened = (events ?? []).map((row) => JSON.parse(row)).map(({ subject_id: _, ...row }) => row);
  expect(happened).toContainEqual(expect.objectContaining({ type: 'lead.created', data: '{"erased":true}' }));
  const stored = JSON.stringify([others, happened]);
  for (const trace of ['ann@acme.com', 'ann@home.net', lead.id]) expect(stored).not.toContain(trace);
  // Who created and who erased the lead is kept for a year, under an id that no longer resolves.
  const subjects = (audit ?? []).map((row) => JSON.parse(row)).filter(({ subject }) => subject === lead.id);
  expect(subjects.map(({ action }) => action).sort()).toEqual(['lead.create', 'lead.erase']);
  for (const address of ['ann@acme.com', 'ann@home.net'])
    expect(JSON.stringify(audit)).not.toContain(address);
  expect(stored).toContain('bob@acme.com');

  const again = await record(
    { event_id: 'ann@acme.com/1', email: 'ann@acme.com' },
    { event_id: '5', email: 'ann@acme.com' },
  );
  expect(again).toMatchObject({ created: 1, duplicates: 1 });
  expect((await call('GET', `/v1/campaigns/${id}/stats`)).counts.sent).toEqual({ total: 3, unique: 3 });
});
