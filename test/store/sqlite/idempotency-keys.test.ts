import type { Database } from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type AnswerPlace,
  createAnswerEraser,
  type MentionStatements,
} from '../../../src/store/changes/mentions.ts';
import {
  type KeptCall,
  keptStepChanges,
  type RequestStatements,
} from '../../../src/store/changes/requests.ts';
import type { Changes } from '../../../src/store/changes.ts';
import type { Asks, Script } from '../../../src/store/script.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { createRunner } from '../../../src/store/sqlite/runner.ts';
import { mentionsSql } from '../../../src/store/sqlite/sql/erasure.ts';
import { answeredAtOnce, runAtOnce } from '../../../src/store/sqlite/sql/prepared.ts';
import { presenceSql } from '../../../src/store/sqlite/sql/processes.ts';
import { requestsSql } from '../../../src/store/sqlite/sql/requests.ts';
import { aTenant, T0 } from '../../support/store.ts';

let db: Database;
let keys: Changes;
let ask: Asks<RequestStatements>;
beforeEach(() => {
  db = openDatabase(':memory:');
  migrate(db);
  keys = createRunner(db);
  ask = answeredAtOnce({ requests: requestsSql(db), presence: presenceSql(db) });
  for (const id of ['ten_a', 'ten_b']) keys.createTenant(aTenant(id));
});
afterEach(() => void db.close());

const aBid = (token: string, now: number, expiresAt = now + 1_000) => ({
  token,
  now,
  expiresAt,
  process: 'p1',
  from: null,
});

function keep(key: string, body: string, { tenantId = 'ten_a', expiresAt = T0 + 1_000 } = {}) {
  const request = { tenantId, route: 'POST /v1/leads', key, fingerprint: 'f' };
  keys.bidForKey(request, aBid(key, T0, expiresAt));
  keys.answerKey(request, key, { status: 201, location: null, body });
}

const kept = () => db.prepare('SELECT key FROM idempotency_keys ORDER BY key').pluck().all();

/** Runs it to the end, and returns the number of pieces. */
function forget(texts: string[], names: string[] = []): number {
  const mentioned = answeredAtOnce({ mentions: mentionsSql(db) }) as Asks<MentionStatements>;
  const forgetSome = runAtOnce(createAnswerEraser(mentioned));
  const mentions = { texts: [], names };
  let pieces = 0;
  for (let after: AnswerPlace | null = ['', '']; after !== null; pieces++)
    after = forgetSome('ten_a', { texts, mentions, after });
  return pieces;
}

/** A step of a request with its own changes, none of which has an actor. */
function makeKept(changes: Record<string, (...args: never[]) => Script<unknown>>, call: KeptCall): unknown {
  return runAtOnce(keptStepChanges(ask, changes, function* () {}).makeKept)(call);
}

describe('an erasure', () => {
  test("deletes only that tenant's stored responses that contain the person", () => {
    keep('by-id', '{"data":{"id":"led_1"}}');
    keep('by-address', '{"data":{"email":"ann@example.com"}}');
    keep('by-name', JSON.stringify({ data: { name: 'Ann "the" \\ O\'Neil' } }));
    keep('another', '{"data":{"id":"led_2"}}');
    keep('elsewhere', '{"data":{"id":"led_1"}}', { tenantId: 'ten_b' });
    forget(['led_1', 'ann@example.com', 'Ann "the" \\ O\'Neil', '']);
    expect(kept()).toEqual(['another', 'elsewhere']);
  });

  test('scans many responses in pieces, with fewer at a time if they are large', () => {
    for (let n = 0; n < 3_000; n++) keep(`small-${n}`, `{"data":{"id":"led_${(n % 100) + 100}"}}`);
    expect(forget(['led_107'])).toBe(4);
    expect(kept()).toHaveLength(2_970);
    for (let n = 0; n < 40; n++) keep(`large-${n}`, `{"data":"${'x'.repeat(200_000)} led_107"}`);
    expect(forget(['led_107'])).toBeGreaterThan(6);
    expect(kept()).toHaveLength(2_970);
  });

  test('redacts the responses that name the person, and deletes long ones that may, in pieces', () => {
    const long = 'x '.repeat(50_000);
    keep('long', JSON.stringify({ data: `${long}Lee, and Ann` }));
    keep('long-other', JSON.stringify({ data: long }));
    for (let n = 0; n < 10; n++)
      keep(`short-${n}`, JSON.stringify({ data: `${'y '.repeat(20_000)}Ann Lee` }));
    expect(forget([], ['Ann Lee'])).toBeGreaterThan(5);
    expect(kept()).toEqual(['long-other', ...Array.from({ length: 10 }, (_, n) => `short-${n}`)]);
    const bodies = db
      .prepare<[], string>("SELECT body FROM idempotency_keys WHERE key LIKE 'short-%'")
      .pluck()
      .all();
    for (const body of bodies) expect(JSON.parse(body).data).toMatch(/ █{7}$/);
  });

  test('keeps the reservation of a running request', () => {
    const request = { tenantId: 'ten_a', route: 'POST /v1/leads', key: 'running', fingerprint: 'f' };
    keys.bidForKey(request, aBid('t', T0));
    forget(['led_1']);
    expect(kept()).toEqual(['running']);
  });

  test('deletes steps about the person that a running request has recorded', () => {
    const request = { tenantId: 'ten_a', route: 'POST /v1/leads', key: 'running', fingerprint: 'f' };
    keys.bidForKey(request, aBid('t', T0));
    const { changes } = answeredAtOnce({ changes: { found: () => ({ email: 'ann@example.com' }) } });
    const call = { request, token: 't', item: '', by: null };
    makeKept(changes, { ...call, name: 'found', args: [] });
    forget(['ann@example.com']);
    expect(kept()).toEqual([]);
    // The request continues, and leaves nothing behind.
    makeKept(changes, { ...call, name: 'found', args: [] });
    expect(keys.answerKey(request, 't', { status: 201, location: null, body: '{}' })).toBe(false);
  });
});

test('later reservations delete expired keys, a limited number each time', () => {
  for (let i = 0; i < 50; i++) keep(`old-${i}`, '{}');
  const reserve = (key: string, now: number) =>
    keys.bidForKey({ tenantId: 'ten_a', route: 'POST /v1/leads', key, fingerprint: 'f' }, aBid(key, now));
  reserve('new-1', T0 + 1_000);
  expect(kept()).toHaveLength(31);
  reserve('new-2', T0 + 1_000);
  reserve('new-3', T0 + 1_000);
  expect(kept()).toEqual(['new-1', 'new-2', 'new-3']);
});

test('a holder that has lost its key can no longer change anything', () => {
  const request = { tenantId: 'ten_a', route: 'POST /v1/leads', key: 'k', fingerprint: 'f' };
  keys.bidForKey(request, aBid('t1', T0));
  expect(keys.bidForKey(request, aBid('t2', T0))).toEqual({ state: 'taken', token: 't1', own: true });
  expect(keys.bidForKey(request, { ...aBid('t2', T0), from: 't1' }).state).toBe('held');
  const made: number[] = [];
  const call = (token: string) =>
    makeKept(answeredAtOnce({ changes: { add: (n: number) => made.push(n) } }).changes, {
      ...{ request, token, item: '', name: 'add', args: [1], by: null },
    });
  expect(() => call('t1')).toThrow('has taken its place');
  expect(made).toEqual([]);
  expect(call('t2')).toBe(1);
});

test('the sweep scans the index by expiry', () => {
  const plan = db
    .prepare<[], { detail: string }>(
      'EXPLAIN QUERY PLAN SELECT rowid FROM idempotency_keys WHERE expires_at <= 1 ORDER BY expires_at LIMIT 20',
    )
    .all();
  expect(plan.map((step) => step.detail).join()).toContain('idempotency_keys_by_expiry');
});

test('a commit deletes long responses and results a few at a time', () => {
  const body = 'x'.repeat(1_500_000);
  const request = (i: number) => ({ tenantId: 'ten_a', route: 'POST /v1/x', key: `k${i}`, fingerprint: 'f' });
  for (let i = 0; i < 7; i++) {
    keys.bidForKey(request(i), { ...aBid(`t${i}`, T0), from: null });
    keys.answerKey(request(i), `t${i}`, { status: 200, location: null, body });
  }
  const left = () => db.prepare("SELECT count(*) FROM idempotency_keys WHERE body <> ''").pluck().get();
  keys.bidForKey(request(10), { ...aBid('t10', T0 + 5_000), from: null });
  expect(left()).toBe(4);
  keys.bidForKey(request(11), { ...aBid('t11', T0 + 5_000), from: null });
  expect(left()).toBe(1);

  const results = [
    { index: 0, status: 'rejected' as const, signal_ids: [], errors: [{ pointer: '', detail: body }] },
  ];
  for (let i = 0; i < 5; i++) {
    const state = { status: 'pending', total: 1, processed: 0, createdAt: T0 + i, finishedAt: null } as const;
    const job = {
      id: `job_${i}`,
      tenantId: 'ten_a',
      kind: 'signals.batch',
      error: null,
      ...state,
    } as const;
    keys.createJob(job, [], 10);
    keys.advanceJob({ id: job.id, processed: 0, results, end: { status: 'done', error: null, at: T0 } });
  }
  expect([1, 2, 3].map(() => keys.pruneJobs(T0 + 100, 500))).toEqual([3, 2, 0]);
});
