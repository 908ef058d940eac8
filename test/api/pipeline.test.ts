import { afterEach, beforeEach, expect, test } from 'vitest';
import { leadSchema } from '../../src/model/lead.ts';
import { stageMoveSchema } from '../../src/model/pipeline.ts';
import { buildTestApp, type TestApp } from '../support/app.ts';
import { bodyText } from '../support/body-text.ts';

let t: TestApp;
let id: string;
beforeEach(async () => {
  t = await buildTestApp({ env: { WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' } });
  id = await add({ email: 'jane@acme.com' });
});
afterEach(() => t.app.close());

async function add(payload: object): Promise<string> {
  t.clock.advance(1_000);
  const answer = await t.app.inject({ method: 'POST', url: '/v1/leads', headers: t.auth, payload });
  return answer.json().data.id;
}

function get(url: string, headers = t.auth) {
  return t.app.inject({ url, headers });
}

function put(what: 'stage' | 'deal', payload: object, { lead = id, headers = t.auth } = {}) {
  return t.app.inject({ method: 'PUT', url: `/v1/pipeline/${lead}/${what}`, headers, payload });
}

/** Adds an endpoint for the pipeline's events; deliveries are read from the store. */
async function listen() {
  const payload = { url: 'http://127.0.0.1:9/hook', event_types: ['pipeline.stage_changed', 'deal.changed'] };
  const made = await t.app.inject({ method: 'POST', url: '/v1/webhooks', headers: t.auth, payload });
  const endpointId: string = made.json().data.id;
  return async () => {
    const [claim] = await t.store.claimDeliveries({
      lanes: [{ endpointId, limit: 100, knownVersion: -1, held: [] }],
      now: t.clock.now(),
      leaseUntil: t.clock.now(),
      leaseToken: 'lease',
    });
    return claim?.deliveries.map((delivery) => JSON.parse(bodyText(delivery))) ?? [];
  };
}

test('moving a lead returns the lead in its new stage', async () => {
  t.clock.advance(90_500);
  const answer = await put('stage', { stage: 'contacted', expected_stage: 'new', reason: ' called ' });
  expect(answer.statusCode).toBe(200);
  const { data } = answer.json();
  expect(leadSchema.parse(data)).toEqual(data);
  expect(data).toMatchObject({
    id,
    stage: 'contacted',
    stage_changed_at: new Date(t.clock.now()).toISOString(),
  });
  const { data: shown } = (await get(`/v1/leads/${id}`)).json();
  expect(shown).toMatchObject(data);
});

test('the history shows who moved a lead, when, why, and how long it had stayed', async () => {
  t.clock.advance(90_500);
  await put('stage', { stage: 'contacted', reason: ' called ' });
  const me = (await get('/v1/me')).json().data.key;
  const page = (await get(`/v1/pipeline/${id}/history`)).json();
  for (const row of page.data) expect(stageMoveSchema.parse(row)).toEqual(row);
  expect(page.data).toMatchObject([
    {
      lead_id: id,
      previous: 'new',
      current: 'contacted',
      reason: 'called',
      actor: { id: me.id, name: me.name },
      moved_at: new Date(t.clock.now()).toISOString(),
      seconds_in_previous: 90.5,
    },
    { previous: null, current: 'new', reason: '', actor: { id: me.id }, seconds_in_previous: null },
  ]);
});

test('the history is paginated, and a move in between does not shift it', async () => {
  for (const stage of ['contacted', 'engaged', 'qualified', 'proposal']) await put('stage', { stage });
  const seen: string[] = [];
  let url = `/v1/pipeline/${id}/history?limit=2`;
  for (;;) {
    const { data, pagination } = (await get(url)).json();
    seen.push(...data.map((move: { current: string }) => move.current));
    if (!pagination.has_more) break;
    if (seen.length === 2) await put('stage', { stage: 'won' });
    url = `/v1/pipeline/${id}/history?limit=2&cursor=${pagination.next_cursor}`;
  }
  expect(seen).toEqual(['proposal', 'qualified', 'engaged', 'contacted', 'new']);
});

test('a move fires an event with the previous and the current stage', async () => {
  const told = await listen();
  await put('stage', { stage: 'contacted', reason: 'called' });
  expect(t.nudged).toHaveLength(1);
  expect(await told()).toMatchObject([
    {
      event: 'pipeline.stage_changed',
      tenant_id: t.tenant.id,
      data: {
        lead_id: id,
        previous: 'new',
        current: 'contacted',
        reason: 'called',
        lead: { id, stage: 'contacted' },
      },
    },
  ]);
});

test('moving to the same stage returns 200 without event or history', async () => {
  const told = await listen();
  const answer = await put('stage', { stage: 'new', expected_stage: 'new' });
  expect(answer.statusCode).toBe(200);
  expect(answer.json().data.stage).toBe('new');
  expect(await told()).toEqual([]);
  expect((await get(`/v1/pipeline/${id}/history`)).json().data).toHaveLength(1);
});

test.each([
  ['another stage', 'contacted'],
  ['the same stage', 'new'],
])('with a wrong expected_stage, moving to %s is 409 and names the current one', async (_, stage) => {
  const answer = await put('stage', { stage, expected_stage: 'won' });
  expect(answer.json()).toMatchObject({ status: 409, code: 'STAGE_CONFLICT', current_stage: 'new' });
  expect(answer.json().detail).toContain('"new"');
});

test('lost requires a reason that is not blank', async () => {
  for (const payload of [
    { stage: 'lost' },
    { stage: 'lost', reason: '  ' },
    { stage: 'lost', reason: null },
  ]) {
    const answer = await put('stage', payload);
    expect(answer.json()).toMatchObject({
      status: 400,
      code: 'INVALID_REQUEST',
      errors: [{ pointer: '/reason' }],
    });
  }
  expect((await put('stage', { stage: 'lost', reason: 'no budget' })).statusCode).toBe(200);
});

test.each(['won', 'lost'])('leaving %s requires reopen', async (closed) => {
  await put('stage', { stage: closed, reason: 'x' });
  const refused = await put('stage', { stage: 'qualified' });
  expect(refused.json()).toMatchObject({ status: 422, code: 'INVALID_TRANSITION' });
  expect(refused.json().hint).toContain('reopen');
  expect((await put('stage', { stage: 'qualified', reopen: true })).json().data.stage).toBe('qualified');
});

test('of many concurrent moves that expect the same stage, one succeeds', async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, () =>
      put('stage', { stage: 'contacted', expected_stage: 'new', reason: 'x' }),
    ),
  );
  const codes = answers.map((answer) => answer.statusCode);
  expect(codes.filter((code) => code === 200)).toHaveLength(1);
  expect(codes.filter((code) => code === 409)).toHaveLength(19);
  expect((await get(`/v1/pipeline/${id}/history`)).json().data).toHaveLength(2);
});

test('concurrent moves are serialized: each starts in the stage where the previous one ended', async () => {
  const stages = ['contacted', 'engaged', 'qualified', 'proposal'];
  await Promise.all(Array.from({ length: 12 }, (_, i) => put('stage', { stage: stages[i % 4] })));
  const { data } = (await get(`/v1/pipeline/${id}/history`)).json();
  for (const [i, move] of data.entries()) expect(move.previous).toBe(data[i + 1]?.current ?? null);
});

test.each([
  ['/stage', {}],
  ['/stage', { stage: 'hot' }],
  ['/expected_stage', { stage: 'won', expected_stage: 'x' }],
  ['/reopen', { stage: 'won', reopen: 'yes' }],
  ['/stgae', { stage: 'won', stgae: 'x' }],
])('an invalid move is rejected with the pointer %s', async (pointer, payload) => {
  const answer = await put('stage', payload);
  expect(answer.json()).toMatchObject({ status: 400, code: 'INVALID_REQUEST', errors: [{ pointer }] });
});

test('a deal is replaced as a whole, shown with the lead, and fires an event', async () => {
  const told = await listen();
  const answer = await put('deal', { amount_minor: 125_000, currency: 'usd', close_date: '2026-03-31' });
  expect(answer.statusCode).toBe(200);
  const deal = { amount_minor: 125_000, currency: 'USD', status: 'open', close_date: '2026-03-31' };
  expect(answer.json().data).toEqual({ lead_id: id, ...deal });
  expect((await get(`/v1/leads/${id}`)).json().data).toMatchObject({ stage: 'new', deal });

  t.clock.advance(1); // events within one millisecond are in no particular order
  await put('deal', { amount_minor: 1, currency: 'EUR' });
  const next = { amount_minor: 1, currency: 'EUR', status: 'open', close_date: null };
  expect(await told()).toMatchObject([
    { event: 'deal.changed', data: { lead_id: id, previous: null, current: deal } },
    { event: 'deal.changed', data: { lead_id: id, previous: deal, current: next } },
  ]);
});

const DEAL = { amount_minor: 480_000, currency: 'USD' };

async function standing() {
  const { stage, deal } = (await get(`/v1/leads/${id}`)).json().data;
  return [stage, deal?.status ?? null];
}

test('moving a lead wins, loses or reopens its deal, in one commit with both events', async () => {
  const told = await listen();
  await put('deal', DEAL);
  await put('stage', { stage: 'contacted' });
  expect(await standing()).toEqual(['contacted', 'open']);
  t.clock.advance(1);
  await put('stage', { stage: 'won' });
  expect(await standing()).toEqual(['won', 'won']);
  await put('stage', { stage: 'lost', reason: 'No budget', reopen: true });
  expect(await standing()).toEqual(['lost', 'lost']);
  await put('stage', { stage: 'qualified', reopen: true });
  expect(await standing()).toEqual(['qualified', 'open']);
  const atWon = (await told()).filter(({ data }) => data.lead.stage === 'won');
  expect(atWon.map(({ event }) => event).sort()).toEqual(['deal.changed', 'pipeline.stage_changed']);
  for (const { data } of atWon) expect(data.lead.deal.status).toBe('won');
});

test('winning or losing a deal moves its lead, by the rules of any move', async () => {
  await put('stage', { stage: 'engaged' });
  await put('deal', { ...DEAL, status: 'won' });
  expect(await standing()).toEqual(['won', 'won']);
  const [latest] = (await get(`/v1/pipeline/${id}/history`)).json().data;
  expect(latest).toMatchObject({ previous: 'engaged', current: 'won' });
  // The amount of a won deal can still change, which does not reopen it.
  expect((await put('deal', { ...DEAL, amount_minor: 1 })).json().data.status).toBe('won');

  const closed = await put('deal', { ...DEAL, status: 'open' });
  expect(closed.json()).toMatchObject({ status: 422, code: 'INVALID_TRANSITION' });
  await put('deal', { ...DEAL, status: 'open', reopen: true });
  expect(await standing()).toEqual(['engaged', 'open']);

  const lost = await put('deal', { ...DEAL, status: 'lost' });
  expect(lost.json()).toMatchObject({ status: 400, errors: [{ pointer: '/reason' }] });
  expect(await standing()).toEqual(['engaged', 'open']);
  await put('deal', { ...DEAL, status: 'lost', reason: 'They chose another' });
  expect(await standing()).toEqual(['lost', 'lost']);
});

test('a new deal on a closed lead takes its status from the stage, and reopening moves the lead to new', async () => {
  const won = await add({ email: 'bob@acme.com', stage: 'won' });
  expect((await put('deal', DEAL, { lead: won })).json().data.status).toBe('won');
  await put('deal', { ...DEAL, status: 'open', reopen: true }, { lead: won });
  expect((await get(`/v1/leads/${won}`)).json().data).toMatchObject({
    stage: 'new',
    deal: { status: 'open' },
  });
});

test('setting the same deal again returns 200 and fires no event', async () => {
  const told = await listen();
  const deal = { amount_minor: 5, currency: 'USD' };
  await put('deal', deal);
  expect((await put('deal', { ...deal, status: 'open', close_date: null })).statusCode).toBe(200);
  expect(await told()).toHaveLength(1);
});

test.each([
  ['/amount_minor', { currency: 'USD' }],
  ['/amount_minor', { amount_minor: 1.5, currency: 'USD' }],
  ['/amount_minor', { amount_minor: -1, currency: 'USD' }],
  ['/currency', { amount_minor: 1 }],
  ['/currency', { amount_minor: 1, currency: 'XYZ' }],
  ['/status', { amount_minor: 1, currency: 'USD', status: 'new' }],
  ['/close_date', { amount_minor: 1, currency: 'USD', close_date: '2026-02-30' }],
  ['/close_date', { amount_minor: 1, currency: 'USD', close_date: '2026-02-01T00:00:00Z' }],
  ['/amount', { amount_minor: 1, currency: 'USD', amount: 1 }],
])('an invalid deal is rejected with the pointer %s', async (pointer, payload) => {
  const answer = await put('deal', payload);
  expect(answer.json()).toMatchObject({ status: 400, code: 'INVALID_REQUEST', errors: [{ pointer }] });
});

test('the board has every stage with its count, value and newest leads', async () => {
  await put('deal', { amount_minor: 100, currency: 'USD' });
  const second = await add({ email: 'bob@acme.com' });
  await put('deal', { amount_minor: 50, currency: 'USD' }, { lead: second });
  const third = await add({ email: 'eve@acme.com', stage: 'won' });
  await put('deal', { amount_minor: 7, currency: 'EUR' }, { lead: third });

  const { stages } = (await get('/v1/pipeline?limit=1')).json().data;
  expect(stages.map((column: { stage: string; count: number }) => [column.stage, column.count])).toEqual([
    ['new', 2],
    ['contacted', 0],
    ['engaged', 0],
    ['qualified', 0],
    ['proposal', 0],
    ['won', 1],
    ['lost', 0],
  ]);
  expect(stages[0].value).toEqual([{ currency: 'USD', amount_minor: 150, deals: 2 }]);
  expect(stages[0].leads.map((lead: { id: string }) => lead.id)).toEqual([second]);
  expect(stages[5].value).toEqual([{ currency: 'EUR', amount_minor: 7, deals: 1 }]);
  for (const lead of stages[5].leads) expect(leadSchema.parse(lead)).toEqual(lead);
  expect((await get('/v1/pipeline')).json().data.stages[0].leads).toHaveLength(2);
});

test('a new tenant has an empty board', async () => {
  const other = await t.addTenant();
  const { stages } = (await get('/v1/pipeline', other.auth)).json().data;
  expect(stages).toHaveLength(7);
  for (const column of stages) expect(column).toMatchObject({ count: 0, value: [], leads: [] });
});

test('an unknown lead and one of another tenant are both 404, and nothing moves', async () => {
  const other = await t.addTenant();
  const deal = { amount_minor: 1, currency: 'USD' };
  for (const answer of [
    await put('stage', { stage: 'won' }, { lead: 'led_none' }),
    await put('stage', { stage: 'won' }, { headers: other.auth }),
    await put('deal', deal, { lead: 'led_none' }),
    await put('deal', deal, { headers: other.auth }),
    await get('/v1/pipeline/led_none/history'),
    await get(`/v1/pipeline/${id}/history`, other.auth),
  ]) {
    expect(answer.json()).toMatchObject({ status: 404, code: 'NOT_FOUND' });
  }
  expect((await get(`/v1/leads/${id}`)).json().data).toMatchObject({ stage: 'new', deal: null });
});

test('each route requires its scope', async () => {
  const reader = await t.addKey({ scopes: ['pipeline:read'] });
  const stranger = await t.addKey({ scopes: ['leads:write'] });
  expect((await get('/v1/pipeline', reader.auth)).statusCode).toBe(200);
  expect((await get(`/v1/pipeline/${id}/history`, reader.auth)).statusCode).toBe(200);
  const refused = [
    [await get('/v1/pipeline', stranger.auth), 'pipeline:read'],
    [await get(`/v1/pipeline/${id}/history`, stranger.auth), 'pipeline:read'],
    [await put('stage', { stage: 'won' }, { headers: reader.auth }), 'pipeline:write'],
    [await put('deal', { amount_minor: 1, currency: 'USD' }, { headers: reader.auth }), 'pipeline:write'],
  ] as const;
  for (const [answer, scope] of refused) {
    expect(answer.json()).toMatchObject({ status: 403, code: 'INSUFFICIENT_SCOPE', required_scope: scope });
  }
});
