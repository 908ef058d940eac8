import { expect, test } from 'vitest';
import { loadConfig } from '../../src/config.ts';
import { createUpkeep } from '../../src/upkeep.ts';
import { aPost, buildTestApp } from '../support/app.ts';
import { aFolder, aFullFolder } from './folder.ts';

/** A folder with data written by the product itself, through its API. */
async function aWrittenFolder() {
  const folder = aFolder();
  loadConfig(folder.env);
  const { store } = await folder.open();
  await store.close();
  const t = await buildTestApp({ file: folder.file });
  const send = (url: string, payload: object) =>
    t.app.inject({ method: 'POST', url, payload, headers: t.auth });
  await send('/v1/webhooks', { url: 'https://receiver.example.com/hook' });
  // Created at the same time, so that their numbers in the index are adjacent.
  for (const place of ['1', '2', '3']) {
    const platform = { ...aPost().platform, post_url: `https://reddit.com/r/hvac/${place}` };
    const text = `${place} ${aPost().text}`;
    expect((await send('/v1/signals', aPost({ platform, text, external_id: place }))).statusCode).toBe(201);
  }
  expect((await send('/v1/leads', { email: 'a@firm.example', name: 'A' })).statusCode).toBe(201);
  await t.app.close();
  return folder;
}

test('finds nothing in data written by the product, even while the database is open', async () => {
  const folder = await aWrittenFolder();
  expect(folder.upkeep.check()).toEqual({ file: folder.file, findings: [], total: 0 });
  const { store } = await folder.open();
  expect(folder.upkeep.check().total).toBe(0);
  await store.close();
});

test.each([
  ['json', "UPDATE signals SET explanation = '{'", /explanation is no JSON/],
  ['json', `UPDATE leads SET wire = json_remove(wire, '$.stage')`, /leads led_\w+: wire .*"stage"/],
  ['json', `UPDATE webhook_endpoints SET settings = json_set(settings, '$.max_retries', 99)`, /max_retries/],
  ['json', "UPDATE events SET data = '[]'", /events evt_\w+: data/],
  [
    'index',
    "INSERT INTO signal_search (signal_search) VALUES ('delete-all')",
    /is not found by its profile and class/,
  ],
  ['index', "UPDATE signals SET classification = 'cold'", /is not found by its profile and class/],
  [
    'deliveries',
    "UPDATE deliveries SET next_attempt_at = NULL WHERE status = 'pending'",
    /would never be sent/,
  ],
  ['deliveries', 'DELETE FROM delivery_bodies', /has no body/],
  ['deliveries', "UPDATE webhook_endpoints SET status = 'paused'", /without a reason/],
  ['counts', 'UPDATE stored_rows SET signals = signals + 1', /counts 4 signals, and there are 3/],
  ['order', 'DELETE FROM signal_positions', /signals sig_\w+: has no place in the order by commit/],
  ['order', 'DELETE FROM event_positions', /events evt_\w+: has no place in the order by commit/],
  ['order', 'UPDATE stored_rows SET position = 7', /its position is below one already assigned/],
  ['references', "UPDATE signals SET profile_id = 'icp_gone'", /refers to a row of icp_profiles/],
] as const)('finds %s: %s', async (part, sql, detail) => {
  const folder = await aWrittenFolder();
  folder.spoil(sql);
  const { findings, total } = folder.upkeep.check();
  expect(total).toBeGreaterThan(0);
  expect(findings.map((finding) => finding.part)).toContain(part);
  expect(findings.map((finding) => finding.detail).join('\n')).toMatch(detail);
});

test('returns the first findings of each part and the total number', async () => {
  const folder = await aFullFolder();
  folder.spoil(`INSERT INTO mail_outbox (id, tenant_id, kind, facts, created_at)
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
    SELECT 'mal_' || i, 'ten_a', 'message', '{', 0 FROM n`);
  const { findings, total } = createUpkeep(folder.env).check();
  expect(findings.length).toBeLessThan(25);
  expect(total).toBeGreaterThanOrEqual(50);
});
