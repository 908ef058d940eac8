import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { EVENT_TYPES } from '../../src/model/event.ts';
import { tempFolder } from '../store/sqlite/temp-folder.ts';
import { aPost } from '../support/app.ts';
import { readRows } from '../support/table-rows.ts';
import { buildWebhookApp, type WebhookApp } from '../support/webhooks.ts';

let t: WebhookApp;
let path: string;
/** Direct access to the database file, bypassing the server. */
let file: Database.Database;
let leadId: string;
let campaignId: string;
beforeEach(async () => {
  path = join(tempFolder(), 'signalpost.db');
  t = await buildWebhookApp({ file: path });
  file = new Database(path);
  leadId = (await t.call('POST', '/v1/leads', { email: 'jane@acme.com' })).json().data.id;
  campaignId = (await t.call('POST', '/v1/campaigns', { name: 'Spring' })).json().data.id;
  await t.addWebhook({ event_types: [...EVENT_TYPES] });
});
afterEach(async () => {
  file.close();
  await t.app.close();
});

const CHANGES: [string, () => Parameters<WebhookApp['call']>][] = [
  ['a signal', () => ['POST', '/v1/signals', aPost()]],
  ['a lead', () => ['POST', '/v1/leads', { email: 'john.smith@beta.com', title: 'CTO' }]],
  ['a stage', () => ['PUT', `/v1/pipeline/${leadId}/stage`, { stage: 'contacted' }]],
  ['a deal', () => ['PUT', `/v1/pipeline/${leadId}/deal`, { amount_minor: 100, currency: 'EUR' }]],
  ['a campaign’s status', () => ['PATCH', `/v1/campaigns/${campaignId}`, { status: 'active' }]],
  ['a reply', () => ['POST', `/v1/campaigns/${campaignId}/events`, { events: [REPLY] }]],
];
const REPLY = {
  ...{ event_id: 'reply_1', type: 'replied', occurred_at: '2026-01-01T00:00:00Z' },
  ...{ email: 'jane@acme.com', reply_class: 'interested' },
};

test.each(CHANGES)(
  '%s whose delivery cannot be stored is not stored either, nor is its event; a retry stores all',
  async (_, change) => {
    const before = readRows(path);
    file.exec("CREATE TRIGGER broken BEFORE INSERT ON deliveries BEGIN SELECT RAISE(ABORT, 'broken'); END");
    const refused = await t.call(...change());
    file.exec('DROP TRIGGER broken');
    expect(refused.statusCode).toBeGreaterThanOrEqual(500);
    expect(readRows(path)).toEqual(before);
    expect(t.nudged).toEqual([]);

    const accepted = await t.call(...change());
    expect(accepted.statusCode).toBeLessThan(300);
    const { data } = (await t.call('GET', '/v1/deliveries')).json();
    expect(data.length).toBeGreaterThanOrEqual(1);
    expect(t.nudged).toHaveLength(data.length);
  },
);
