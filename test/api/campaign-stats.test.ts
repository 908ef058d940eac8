import { afterEach, beforeEach, expect, test } from 'vitest';
import { campaignStatsSchema } from '../../src/model/campaign.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';

let t: TestApp;
let campaignId: string;
beforeEach(async () => {
  t = await buildTestApp();
  campaignId = await newCampaign();
});
afterEach(() => t.app.close());

async function newCampaign(): Promise<string> {
  const payload = { name: 'Spring', status: 'active', steps: [{ step: 1, name: 'Intro' }] };
  const answer = await t.app.inject({ method: 'POST', url: '/v1/campaigns', headers: t.auth, payload });
  return answer.json().data.id;
}

function stats(query = '', headers = t.auth, id = campaignId) {
  return t.app.inject({ url: `/v1/campaigns/${id}/stats${query}`, headers });
}

/** Records `[type, person, time, more]` tuples. */
async function record(...events: [string, string, string, object?][]) {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/v1/campaigns/${campaignId}/events`,
    headers: t.auth,
    payload: {
      events: events.map(([type, person, occurred_at, more], index) => ({
        event_id: `${t.clock.now()}-${index}`,
        type,
        email: `${person}@acme.com`,
        occurred_at,
        ...more,
      })),
    },
  });
  t.clock.advance(1);
  expect(answer.json().data.created).toBe(events.length);
}

test('statistics of a campaign include counts, rates, reply classes, steps and days', async () => {
  const at = '2026-03-01T10:00:00Z';
  await record(
    ...['ann', 'bob', 'cem', 'dee'].map((who): [string, string, string, object] => [
      'sent',
      who,
      at,
      { step: 1 },
    ]),
    ...['ann', 'bob', 'cem'].map((who): [string, string, string, object] => [
      'delivered',
      who,
      at,
      { step: 1 },
    ]),
    ['bounced', 'dee', at],
    ['opened', 'ann', at],
    ['opened', 'ann', '2026-03-03T10:00:00Z'],
    ['replied', 'ann', at, { reply_class: 'interested', step: 1 }],
    ['replied', 'bob', at, { reply_class: 'out_of_office' }],
    ['meeting', 'ann', at],
  );
  const answer = await stats();
  expect(answer.statusCode).toBe(200);
  const { data } = answer.json();
  expect(campaignStatsSchema.parse(data)).toEqual(data);
  expect(data).toMatchObject({
    campaign_id: campaignId,
    from: '2026-03-01T10:00:00.000Z',
    to: '2026-03-03T10:00:00.001Z',
    interval: 'day',
    timezone: 'UTC',
    recipients_contacted: 4,
    rates: {
      delivery: 0.75,
      bounce: 0.25,
      open: 1 / 3,
      click: 0,
      reply: 1 / 3,
      unsubscribe: 0,
      meeting: 0.25,
    },
  });
  expect(data.counts).toEqual({
    sent: { total: 4, unique: 4 },
    delivered: { total: 3, unique: 3 },
    opened: { total: 2, unique: 1 },
    clicked: { total: 0, unique: 0 },
    replied: { total: 1, unique: 1 },
    bounced: { total: 1, unique: 1 },
    unsubscribed: { total: 0, unique: 0 },
    meeting: { total: 1, unique: 1 },
    auto_replied: { total: 1, unique: 1 },
  });
  expect(data.replies_by_class).toMatchObject({
    interested: { total: 1, unique: 1 },
    out_of_office: { total: 1, unique: 1 },
    other: { total: 0, unique: 0 },
    unclassified: { total: 0, unique: 0 },
  });
  expect(
    data.by_step.map((row: { step: number; name: string; counts: { sent: object } }) => [
      row.step,
      row.name,
      row.counts.sent,
    ]),
  ).toEqual([
    [1, 'Intro', { total: 4, unique: 4 }],
    [null, null, { total: 0, unique: 0 }],
  ]);
  expect(data.series.map((row: { date: string }) => row.date)).toEqual([
    '2026-03-01',
    '2026-03-02',
    '2026-03-03',
  ]);
});

test('a range is half-open, and a date is its midnight in the requested time zone', async () => {
  await record(
    ['sent', 'ann', '2026-03-28T22:59:59.999Z'],
    ['sent', 'bob', '2026-03-28T23:00:00Z'],
    ['sent', 'cem', '2026-03-29T21:59:59.999Z'],
    ['sent', 'dee', '2026-03-29T22:00:00Z'],
  );
  const { data } = (await stats('?from=2026-03-29&to=2026-03-30&timezone=Europe/Berlin')).json();
  expect(data.counts.sent.total).toBe(2);
  expect(data).toMatchObject({ from: '2026-03-28T23:00:00.000Z', to: '2026-03-29T22:00:00.000Z' });
  expect(data.series).toHaveLength(1);
  const times = '?from=2026-03-28T23:00:00Z&to=2026-03-30T00:00:00%2B02:00&timezone=Europe/Berlin';
  expect((await stats(times)).json().data).toEqual(data);
});

test('a range without events still has its buckets', async () => {
  const { data } = (await stats('?from=2026-03-01&to=2026-03-15&interval=week')).json();
  expect(data.series.map((row: { date: string }) => row.date)).toEqual([
    '2026-02-23',
    '2026-03-02',
    '2026-03-09',
  ]);
});

test.each([
  ['?interval=month', 'interval'],
  ['?timezone=Mars/Phobos', 'timezone'],
  ['?timezone=%2B01:00', 'timezone'],
  ['?timezone=', 'timezone'],
  ['?from=yesterday', 'from'],
  ['?from=2026-02-30', 'from'],
  ['?from=2026-03-01T00:00:00', 'from'],
  ['?from=1969-12-31', 'from'],
  ['?to=9999-01-01', 'to'],
  ['?from=2026-03-02&to=2026-03-02', 'to'],
  ['?from=2026-03-02&to=2026-03-01', 'to'],
  ['?from=2020-01-01&to=2026-01-01&interval=day', 'interval'],
])('%s is rejected with the name of the parameter', async (query, parameter) => {
  const answer = await stats(query);
  expect(answer.statusCode).toBe(400);
  expect(answer.json()).toMatchObject({ code: 'INVALID_REQUEST', errors: [{ parameter }] });
});

test('a series that is too long is rejected with an alternative', async () => {
  const day = (await stats('?from=2020-01-01&to=2026-01-01&interval=day')).json();
  expect(day.hint).toContain('interval=week');
  const week = (await stats('?from=1990-01-01&to=2026-01-01&interval=week')).json();
  expect(week.hint).toBe('Use a shorter range.');
});

test('a mistyped parameter is rejected with a suggestion', async () => {
  const answer = await stats('?timezon=UTC');
  expect(answer.json()).toMatchObject({
    code: 'UNKNOWN_PARAMETER',
    errors: [{ parameter: 'timezon', detail: expect.stringContaining('"timezone"') }],
  });
});

test('an unknown campaign or one of another tenant is 404', async () => {
  const { auth } = await t.addTenant();
  expect((await stats('', auth)).json().code).toBe('NOT_FOUND');
  expect((await stats('', t.auth, 'cam_none')).statusCode).toBe(404);
});

test('statistics require campaigns:read', async () => {
  const stranger = await t.addKey({ scopes: ['leads:write'] });
  const answer = await stats('', stranger.auth);
  expect(answer.json()).toMatchObject({ code: 'INSUFFICIENT_SCOPE', required_scope: 'campaigns:read' });
});
