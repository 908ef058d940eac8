import type { Database } from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { parseBytes } from '../../../src/lib/json.ts';
import type { Company, CompanyQuery } from '../../../src/model/company.ts';
import { STAGES } from '../../../src/model/constants.ts';
import type { Page } from '../../../src/model/filters.ts';
import type { StoredDeliveryPage } from '../../../src/store/delivery-log-store.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { companyPageFace, deliveryPageFace } from '../../../src/store/sqlite/face/pages.ts';
import {
  batchFace,
  boardFace,
  companySignalFace,
  endpointCountFace,
  flowFace,
  personSignalFace,
  postFace,
  signalDayFace,
} from '../../../src/store/sqlite/face/scans.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { createBestOfBatch } from '../../../src/store/sqlite/reads/events.ts';
import { createRunner } from '../../../src/store/sqlite/runner.ts';
import { aLead, aNewLead } from '../../support/leads.ts';
import { anEndpoint, aRoutedEvent, aSignal, aTenant, T0 } from '../../support/store.ts';

const SIGNALS = 25_000;

/** A database with one tenant. */
function openWithTenant() {
  const db = openDatabase(':memory:');
  onTestFinished(() => void db.close());
  migrate(db);
  const runner = createRunner(db);
  runner.createTenant(aTenant('ten_a'));
  return { db, runner };
}

/** One person's signals at one company, with scores from 0 to 99; the first 6,000 are attached to a lead. */
function manySignals(): Database {
  const { db, runner } = openWithTenant();
  runner.commitSignals([aSignal('ten_a', { id: 'sig_0', companyDomain: 'acme.com', timestamp: T0 })]);
  runner.commitLead(aNewLead('ten_a', aLead('led_1')));
  db.prepare(
    `WITH RECURSIVE n AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM n WHERE n < :most)
     INSERT INTO signals SELECT (timestamp + n.n << 21) | (n.n * 37 % 100), 'sig_' || (100000 + n.n), tenant_id, profile_id, platform,
       signal_type, classification, n.n * 37 % 100, timestamp + n.n, company_domain, NULL, NULL, json_object('n', n.n), '{}', ''
     FROM n, signals WHERE id = 'sig_0' ORDER BY n.n`,
  ).run({ most: SIGNALS });
  db.exec(`DELETE FROM signal_people; INSERT INTO signal_people SELECT tenant_id, 'email:a@acme.com', id FROM signals WHERE id > 'sig_1';
    INSERT INTO lead_signals SELECT 'led_1', id, timestamp, score, classification FROM signals WHERE id > 'sig_1' ORDER BY id LIMIT 6000`);
  return db;
}

/** Counts parts; time passes with each, so that every one is followed by a turn of the event loop. */
function inParts() {
  const parts = { count: 0 };
  const clock = { ...systemClock, monotonic: () => parts.count * 10 };
  const read = async <T>(query: () => T): Promise<T> => {
    parts.count++;
    return query();
  };
  return { parts, clock, read };
}

const numbers = (texts: string[]) => texts.map((text) => JSON.parse(text).n);
/** The best of some signals: highest score first, then latest. */
const best = (from: number, to: number, limit: number) =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i)
    .sort((a, b) => ((b * 37) % 100) - ((a * 37) % 100) || b - a)
    .slice(0, limit);

test('the newest unattached signals of a person with thousands are found in parts', async () => {
  const { parts, clock, read } = inParts();
  const db = manySignals();
  const { findFreeSignalsOfPerson } = personSignalFace(db, clock, read);
  const free = async (...keys: string[]) =>
    numbers((await findFreeSignalsOfPerson('ten_a', keys, 3)).map(({ wire }) => wire));
  expect(await free('email:a@acme.com', 'email:none')).toEqual([SIGNALS, SIGNALS - 1, SIGNALS - 2]);
  db.exec(
    "INSERT INTO lead_signals SELECT 'led_1', id, timestamp, score, classification FROM signals WHERE id > 'sig_106002'",
  );
  parts.count = 0;
  expect(await free('email:a@acme.com')).toEqual([6_002, 6_001]);
  expect(parts.count).toBeGreaterThan(10);
});

test('long signals of a person, and those that a request names, are read a few at a time', async () => {
  const { parts, clock, read } = inParts();
  const db = manySignals();
  db.exec(
    "UPDATE signals SET wire = json_object('n', 1, 'also', printf('%.*c', 90000, 'x')) WHERE id > 'sig_124960'",
  );
  const face = personSignalFace(db, clock, read);
  const free = await face.findFreeSignalsOfPerson('ten_a', ['email:a@acme.com'], 40);
  expect(free).toHaveLength(40);
  expect(parts.count).toBeGreaterThan(20);
  const ids = free.map(({ id }) => id);
  expect(ids).toEqual([...ids].sort().reverse());
  parts.count = 0;
  const named = await face.findLeadSignals('ten_a', [...ids, 'sig_100001', 'sig_none', ids[0] ?? '']);
  expect(named.map(({ id, leadId }) => ({ id, leadId }))).toEqual([
    ...ids.map((id) => ({ id, leadId: null })),
    { id: 'sig_100001', leadId: 'led_1' },
  ]);
  expect(parts.count).toBeGreaterThan(15);
  expect(await face.findLeadSignals('ten_b', ids)).toEqual([]);
});

test('the contacts of a company are read a few at a time', async () => {
  const { parts, clock, read } = inParts();
  const db = manySignals();
  db.exec(`UPDATE signals SET wire = json_object('signal_id', id, 'lead_id', NULL, 'also', printf('%.*c', 90000, 'x'),
    'prospect', json_object('name', 'P ' || id, 'title', '', 'email', '', 'linkedin_url', '')) WHERE id > 'sig_124800'`);
  const { listCompanyContacts } = companySignalFace(db, clock, read);
  const contacts = await listCompanyContacts('ten_a', 'acme.com', 40);
  expect(contacts).toHaveLength(40);
  expect(contacts.at(-1)).toMatchObject({ name: expect.stringMatching(/^P sig_1249/) });
  expect(parts.count).toBeGreaterThan(100);
});

test('the signals of a company with thousands are counted and ranked in parts', async () => {
  const { parts, clock, read } = inParts();
  const face = companySignalFace(manySignals(), clock, read);
  const activity = await face.readCompanyActivity(
    'ten_a',
    ['acme.com', 'none.com'],
    [T0 + 24_990, T0 + 1, 0],
  );
  expect(activity).toEqual([
    { counts: [11, SIGNALS, SIGNALS + 1], lastAt: T0 + SIGNALS },
    { counts: [0, 0, 0], lastAt: null },
  ]);
  expect(parts.count).toBeGreaterThan(8);
  parts.count = 0;
  const top = await face.listTopSignals('ten_a', 'acme.com', { since: T0 + 2, limit: 9 });
  expect(numbers(top)).toEqual(best(2, SIGNALS, 9));
  const steps = await face.countCompanySignals('ten_a', 'acme.com', { from: T0 + 1, stepMs: 10_000 });
  expect(steps).toEqual([10_000, 10_000, 5_000].map((count, step) => ({ step, count })));
  expect(parts.count).toBeGreaterThan(5);
});

test('the leads of a pipeline are counted and their deals summed in parts', async () => {
  const { parts, clock, read } = inParts();
  const { db } = openWithTenant();
  // Many without a deal, many deals of one amount, and some of each other one.
  const deal = 'CASE n % 4 WHEN 0 THEN NULL WHEN 1 THEN';
  db.prepare(
    `WITH RECURSIVE n AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM n WHERE n < :most)
     INSERT INTO leads (id, tenant_id, stage, score, classification, company_domain, source, deal_currency, deal_amount, created_at, version, wire)
     SELECT 'led_' || n, 'ten_a', iif(n % 100 = 0, 'won', 'new'), 0, '', '', '', ${deal} 'EUR' ELSE 'USD' END, ${deal} 7 ELSE n / 3 END, n, 1, '{}'
     FROM n`,
  ).run({ most: 180_000 });
  const { readBoard, sumOpenDeals } = boardFace(db, clock, read);
  const wanted = db
    .prepare<[], { currency: string; amount_minor: number; deals: number }>(
      `SELECT deal_currency AS currency, sum(deal_amount) AS amount_minor, count(*) AS deals FROM leads
       WHERE stage = 'new' AND deal_currency IS NOT NULL GROUP BY 1 ORDER BY 1`,
    )
    .all();
  expect(wanted.map(({ deals }) => deals)).toEqual([45_000, 90_000]);
  const board = await readBoard('ten_a', 2);
  expect(board.map(({ stage, count }) => [stage, count]).filter(([, count]) => count !== 0)).toEqual([
    ['new', 178_200],
    ['won', 1_800],
  ]);
  expect(board[0]).toMatchObject({ value: wanted, leads: [Buffer.from('{}'), Buffer.from('{}')] });
  expect(board.find(({ stage }) => stage === 'won')?.value).toEqual([]);
  expect(parts.count).toBeGreaterThan(10 + 7);
  parts.count = 0;
  expect(await sumOpenDeals('ten_a')).toEqual(wanted);
  expect(parts.count).toBeGreaterThan(6);
  expect(await sumOpenDeals('ten_none')).toEqual([]);
});

test('long leads of a pipeline are read a few at a time', async () => {
  const { parts, clock, read } = inParts();
  const { db } = openWithTenant();
  db.prepare(
    `WITH RECURSIVE n AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM n WHERE n < 20)
     INSERT INTO leads (id, tenant_id, stage, score, classification, company_domain, source, created_at, version, wire)
     SELECT 'led_' || n, 'ten_a', 'new', 0, '', '', '', n, 1, json_object('n', n, 'notes', printf('%.*c', 40000, 'x')) FROM n`,
  ).run();
  const { readBoard } = boardFace(db, clock, read);
  await readBoard('ten_a', 0);
  const counted = parts.count;
  const [column] = await readBoard('ten_a', 15);
  expect(column?.leads.map((lead) => parseBytes<{ n: number }>(lead).n)).toEqual(
    Array.from({ length: 15 }, (_, n) => 20 - n),
  );
  // Which leads they are in each stage, then three leads at a time.
  expect(parts.count - 2 * counted).toBeGreaterThanOrEqual(STAGES.length + 5);
});

test('few of many companies are found in parts', async () => {
  const { parts, clock, read } = inParts();
  const { db } = openWithTenant();
  db.prepare(
    `WITH RECURSIVE n AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM n WHERE n < :most)
     INSERT INTO companies (id, tenant_id, domain, search, industry, facts, active_at, created_at, updated_at, version)
     SELECT 'cmp_' || (100000 + n), 'ten_a', n || '.com', n || '.com' || iif(n % 5000 = 0, ' rare', ''),
       CASE n % 10000 WHEN 0 THEN 'odd' WHEN 1 THEN 'strange' ELSE 'software' END, '{"manual":{},"observed":{}}', n / 7, n, 1, 1 FROM n`,
  ).run({ most: 20_000 });
  const { listCompanies } = companyPageFace(db, clock, read);
  const all = {
    domains: [],
    industries: [],
    search: null,
    sort: '-created_at',
    limit: 3,
    after: null,
  } as const;
  const domains = async (query: Partial<CompanyQuery>) => {
    parts.count = 0;
    const found: string[] = [];
    let after: CompanyQuery['after'] = null;
    do {
      const page: Page<Company> = await listCompanies('ten_a', {
        ...all,
        industries: [],
        domains: [],
        ...query,
        after,
      });
      found.push(page.rows.map(({ domain }) => domain.slice(0, -4)).join(' '));
      after = page.last;
    } while (after !== null);
    return found;
  };
  for (const sort of ['-created_at', '-last_signal_at'] as const) {
    expect(await domains({ sort, search: 'rare' })).toEqual(['20000 15000 10000', '5000']);
    expect(parts.count).toBeGreaterThan(5);
    expect(await domains({ sort, industries: ['odd', 'strange'] })).toEqual(['20000 10001 10000', '1']);
    expect(parts.count).toBeGreaterThan(5);
    expect(await domains({ sort, industries: ['odd'], search: '10000' })).toEqual(['10000']);
    expect(await domains({ sort, domains: ['5000.com', '7.com', 'none'] })).toEqual(['5000 7']);
    expect(await domains({ sort, domains: ['5000.com', '7.com'], search: 'rare' })).toEqual(['5000']);
  }
  parts.count = 0;
  expect((await listCompanies('ten_a', { ...all, domains: [], industries: [] })).rows).toHaveLength(3);
  expect(parts.count).toBe(1);
});

test('the newest posts are read with turns of the event loop in between', async () => {
  const { parts, clock, read } = inParts();
  const { listPosts } = postFace(manySignals(), clock, read);
  const posts = await listPosts('ten_a', 20);
  expect(posts.map(({ id }) => id)).toEqual(
    Array.from({ length: 20 }, (_, i) => `sig_${100_000 + SIGNALS - i}`),
  );
  expect(parts.count).toBe(21);
  expect(await listPosts('ten_none', 20)).toEqual([]);
});

test('deliveries of a subject with hundreds of events, and of an event with hundreds, are read in parts', async () => {
  const { parts, clock, read } = inParts();
  const { db, runner } = openWithTenant();
  runner.createEndpoint(anEndpoint('ten_a', { id: 'whk_a' }), null);
  const { event, ...routed } = aRoutedEvent('ten_a', ['whk_a'], {
    id: 'evt_1000',
    deliveryIds: ['dlv_1000'],
  });
  runner.commitSignals([
    aSignal('ten_a', { id: 'sig_1', events: [{ ...routed, event: { ...event, subjectId: 'sig_1' } }] }),
  ]);
  const columnsOf = (table: string, ...own: string[]) =>
    db
      .prepare<[string], string>('SELECT name FROM pragma_table_info(?)')
      .pluck()
      .all(table)
      .filter((name) => !own.includes(name))
      .join(', ');
  const numbers = (from: number, most: number) =>
    `WITH RECURSIVE n (i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${most})`;
  const columns = columnsOf('events', 'id');
  const own = columnsOf('deliveries', 'id', 'event_id', 'created_at');
  db.exec(`${numbers(1_001, 1_999)} INSERT INTO events (id, ${columns})
    SELECT 'evt_' || i, ${columns} FROM n, events WHERE id = 'evt_1000'`);
  // Without deliveries: 1,000 to 1,299, but for the first. With one each: 1,300 to 1,999. One has 700.
  db.exec(`${numbers(1_300, 1_999)} INSERT INTO deliveries (id, event_id, created_at, ${own})
    SELECT 'dlv_' || i, 'evt_' || i, created_at + i, ${own} FROM n, deliveries WHERE id = 'dlv_1000'`);
  db.exec(`${numbers(2_000, 2_699)} INSERT INTO deliveries (id, event_id, created_at, ${own})
    SELECT 'dlv_' || i, 'evt_1500', created_at + i % 7, ${own} FROM n, deliveries WHERE id = 'dlv_1000'`);
  const { listDeliveries } = deliveryPageFace(db, clock, read);
  const any = { endpointId: null, status: null, eventType: null, eventId: null, from: null, to: null };
  const all = async (of: { subjectId: string } | { eventId: string }, tenantId = 'ten_a') => {
    parts.count = 0;
    const ids: string[] = [];
    let after: CompanyQuery['after'] = null;
    do {
      const page: Page<{ id: string }> = await listDeliveries(tenantId, { ...any, ...of, limit: 300, after });
      ids.push(...page.rows.map(({ id }) => id));
      after = page.last;
    } while (after !== null);
    return ids;
  };
  const stored = (where: string) =>
    db
      .prepare<[], string>(`SELECT id FROM deliveries WHERE ${where} ORDER BY created_at DESC, id DESC`)
      .pluck()
      .all();
  expect(await all({ subjectId: 'sig_1' })).toEqual(stored('TRUE'));
  expect(parts.count).toBeGreaterThan(30);
  expect(await all({ eventId: 'evt_1500' })).toEqual(stored("event_id = 'evt_1500'"));
  expect(parts.count).toBeGreaterThan(9);
  expect(await all({ subjectId: 'sig_1' }, 'ten_b')).toEqual([]);
});

test('waiting deliveries to thousands of endpoints are found in parts', async () => {
  const { parts, clock, read } = inParts();
  const { db, runner } = openWithTenant();
  const [first, ...rest] = Array.from({ length: 2_100 }, (_, n) => `whk_${10_000 + n}`);
  runner.createEndpoint(anEndpoint('ten_a', { id: first ?? '' }), null);
  const columns = db
    .prepare<[], string>("SELECT name FROM pragma_table_info('webhook_endpoints') WHERE name <> 'id'")
    .pluck()
    .all()
    .join(', ');
  db.prepare(
    `INSERT INTO webhook_endpoints (id, ${columns}) SELECT j.value, ${columns} FROM json_each(?) j, webhook_endpoints`,
  ).run(JSON.stringify(rest));
  const send = (endpointIds: string[], name: string) =>
    runner.commitSignals([
      aSignal('ten_a', {
        events: [
          aRoutedEvent('ten_a', endpointIds, { deliveryIds: endpointIds.map((id) => `dlv_${name}_${id}`) }),
        ],
      }),
    ]);
  const some = [first ?? '', ...rest].filter((_, n) => n % 300 === 0);
  send(some, 'a');
  db.exec("UPDATE webhook_endpoints SET status = 'paused' WHERE id = 'whk_10600'");
  const { listDeliveries, listStoredDeliveries } = deliveryPageFace(db, clock, read);
  const any = { endpointId: null, status: null, eventType: null, eventId: null, from: null, to: null };
  const all = async (query: Partial<Parameters<typeof listDeliveries>[1]>) => {
    parts.count = 0;
    const { rows, last } = await listDeliveries('ten_a', { ...any, ...query, limit: 5, after: null });
    return [...rows.map(({ id }) => id.slice(-3)), ...(last === null ? [] : ['…'])];
  };
  expect(await all({ status: 'pending' })).toEqual(['800', '500', '200', '900', '300', '…']);
  expect(parts.count).toBeGreaterThan(5);
  expect(await all({ status: 'held' })).toEqual(['600']);
  expect(await all({ status: 'retrying' })).toEqual([]);
  expect(await all({ status: 'held', endpointId: 'whk_10600' })).toEqual(['600']);
  expect(await all({ status: 'pending', endpointId: 'whk_10600' })).toEqual([]);
  // Too many to sort.
  for (const name of ['b', 'c', 'd']) send([first ?? '', ...rest], name);
  expect(await all({ status: 'held' })).toEqual(['600', '600', '600', '600']);
  expect(await all({ status: 'pending' })).toEqual(['099', '098', '097', '096', '095', '…']);
  expect(await all({ status: 'pending', endpointId: 'whk_10600' })).toEqual([]);
  const stored: string[] = [];
  for (let after: CompanyQuery['after'] = null, hasMore = true; hasMore; ) {
    const page: StoredDeliveryPage = await listStoredDeliveries('ten_a', { ...any, limit: 900, after });
    stored.push(...page.rows.map(({ id }) => id));
    ({ next: after, hasMore } = page);
  }
  expect(stored).toHaveLength(some.length + 3 * 2_100);
  expect(new Set(stored).size).toBe(stored.length);
  expect(stored.slice(some.length)).toEqual([...stored.slice(some.length)].sort());
});

test('deliveries stored after their event are passed over in parts, and found at their own places', async () => {
  const { parts, clock, read } = inParts();
  const { db, runner } = openWithTenant();
  runner.createEndpoint(anEndpoint('ten_a', { id: 'whk_a' }), null);
  const routed = aRoutedEvent('ten_a', ['whk_a'], { id: 'evt_1', deliveryIds: ['dlv_1'] });
  runner.commitSignals([aSignal('ten_a', { events: [routed] })]);
  const columns = db
    .prepare<[], string>("SELECT name FROM pragma_table_info('deliveries') WHERE name <> 'id'")
    .pluck()
    .all()
    .join(', ');
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 100000 UNION ALL SELECT i + 1 FROM n WHERE i < 125000)
    INSERT INTO deliveries (id, ${columns}) SELECT 'dlv_' || i, ${columns} FROM n, deliveries WHERE id = 'dlv_1';
    INSERT INTO late_deliveries (tenant_id, position, delivery_id)
    SELECT 'ten_a', (SELECT max(position) FROM event_positions) + row_number() OVER (ORDER BY id), id FROM deliveries WHERE id > 'dlv_1'`);
  const { listStoredDeliveries } = deliveryPageFace(db, clock, read);
  const any = { endpointId: null, status: null, eventType: null, eventId: null, from: null, to: null };
  const first = await listStoredDeliveries('ten_a', { ...any, limit: 1, after: null });
  expect(first.rows.map(({ id }) => id)).toEqual(['dlv_1']);
  parts.count = 0;
  const second = await listStoredDeliveries('ten_a', { ...any, limit: 2, after: first.next });
  expect(second.rows.map(({ id }) => id)).toEqual(['dlv_100000', 'dlv_100001']);
  expect(parts.count).toBeGreaterThan(3);
});

test('thousands of endpoints are counted in parts, without subscriptions and deleted ones', async () => {
  const { parts, clock, read } = inParts();
  const { db, runner } = openWithTenant();
  runner.createEndpoint(anEndpoint('ten_a', { id: 'whk_1' }), null);
  const columns = db
    .prepare<[], string>("SELECT name FROM pragma_table_info('webhook_endpoints') WHERE name <> 'id'")
    .pluck()
    .all()
    .join(', ');
  db.exec(`WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 25000)
    INSERT INTO webhook_endpoints (id, ${columns}) SELECT 'whk_' || i, ${columns} FROM n, webhook_endpoints WHERE id = 'whk_1';
    UPDATE webhook_endpoints SET deleted_at = 1 WHERE id = 'whk_7'; UPDATE webhook_endpoints SET mode = 'mcp' WHERE id = 'whk_8'`);
  const { countEndpoints } = endpointCountFace(db, clock, read);
  expect(await countEndpoints('ten_a')).toBe(24_998);
  expect(parts.count).toBeGreaterThan(2);
  expect(await countEndpoints('ten_none')).toBe(0);
});

test('the moves of leads are read in parts, also those of one lead', async () => {
  const { parts, clock, read } = inParts();
  const { db, runner } = openWithTenant();
  for (const id of ['led_1', 'led_2', 'led_3']) runner.commitLead(aNewLead('ten_a', aLead(id)));
  db.exec(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
     INSERT INTO stage_moves SELECT 'led_1', i + 1, CASE i % 2 WHEN 1 THEN 'new' ELSE 'contacted' END,
       CASE i % 2 WHEN 1 THEN 'contacted' ELSE 'new' END, '', 'key_1', 'test', ${T0}, i % 2 * 4 + 2 FROM n;
     INSERT INTO stage_moves VALUES ('led_2', 2, 'new', 'lost', '', 'key_1', 'test', ${T0}, 12006)`,
  );
  const { readStageFlow } = flowFace(db, clock, read);
  expect(await readStageFlow('ten_a', { since: 0, leads: 10 })).toEqual({
    leads: 3,
    furthest: { new: 2, contacted: 1 },
    stayed: { new: (6_000 * 6 + 12_006) / 6_001, contacted: 2 },
  });
  expect(parts.count).toBeGreaterThanOrEqual(6);
});

test('the signals of days with very many profiles are counted in parts', async () => {
  const { parts, clock, read } = inParts();
  const { db } = openWithTenant();
  const today = Math.floor(T0 / 86_400_000);
  db.exec(
    `WITH RECURSIVE p (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM p WHERE i < 24999), d (j) AS (VALUES (-1), (0), (1))
     INSERT INTO signal_days SELECT 'ten_a', ${today} + j, 'icp_' || i, i % 20, CASE i % 2 WHEN 0 THEN 'hot' ELSE 'warm' END, 2 - j
     FROM d, p WHERE j < 1 OR i < 10;
     UPDATE signal_days SET count = 0 WHERE day = ${today} + 1`,
  );
  const { countSignalsByDay } = signalDayFace(db, clock, read);
  const day = (after: number) => new Date((today + after) * 86_400_000).toISOString().slice(0, 10);
  expect(await countSignalsByDay('ten_a', day(0))).toEqual([{ day: day(0), hot: 25_000, warm: 25_000 }]);
  expect(parts.count).toBe(3);
  expect(await countSignalsByDay('ten_a', day(-1))).toEqual([
    { day: day(-1), hot: 37_500, warm: 37_500 },
    { day: day(0), hot: 25_000, warm: 25_000 },
  ]);
});

test('the signals of a batched message are counted and ranked in parts, as its commit ranks them', async () => {
  const { parts, clock, read } = inParts();
  const db = manySignals();
  db.pragma('foreign_keys = off');
  // Every tenth signal has two events, in different parts.
  db.exec(`INSERT INTO events (id, tenant_id, type, subject_id, data, created_at)
      SELECT 'evt_' || substr(id, 5), tenant_id, 'signal.detected', id, '{}', ${T0} FROM signals WHERE id BETWEEN 'sig_100001' AND 'sig_103000'
      UNION ALL SELECT 'evt_2' || substr(id, 6), tenant_id, 'signal.new_hot', id, '{}', ${T0} FROM signals
      WHERE id BETWEEN 'sig_100001' AND 'sig_103000' AND substr(id, -1) = '0';
    INSERT INTO batched_events (event_id, endpoint_id) SELECT id, 'whk_a' FROM events WHERE id > 'evt_1'`);
  const { readBatch } = batchFace(db, clock, read);
  const whole = await readBatch('whk_a', { limit: 5_000, best: 20 });
  expect(whole).toMatchObject({ events: 3_300, last: { id: 'evt_203000', type: 'signal.new_hot' } });
  expect(Object.values(whole?.counts ?? {}).reduce((sum, n) => sum + n)).toBe(3_000);
  expect(whole?.wires).toEqual(createBestOfBatch(db)('whk_a', 5_000, 20));
  expect(numbers(whole?.wires ?? [])).toEqual(best(1, 3_000, 20));
  expect(parts.count).toBeGreaterThanOrEqual(8);
  expect(await readBatch('whk_a', { limit: 501, best: 20 })).toMatchObject({
    events: 501,
    last: { id: 'evt_100501' },
  });
});
