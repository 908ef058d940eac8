import type { Database } from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { createIdempotencySql } from '../../../src/store/sqlite/tables/idempotency.ts';
import { createTenantSql } from '../../../src/store/sqlite/tables/tenants.ts';
import { aTenant, T0 } from '../../support/store.ts';

let db: Database;
let keys: ReturnType<typeof createIdempotencySql>;
beforeEach(() => {
  db = openDatabase(':memory:');
  migrate(db);
  for (const id of ['ten_a', 'ten_b']) createTenantSql(db).insert(aTenant(id).tenant);
  keys = createIdempotencySql(db);
});
afterEach(() => void db.close());

function keep(key: string, body: string, { tenantId = 'ten_a', expiresAt = T0 + 1_000 } = {}) {
  const request = { tenantId, route: 'POST /v1/leads', key, fingerprint: 'f' };
  keys.reserve(request, { token: key, now: T0, leaseUntil: T0 + 100, expiresAt });
  keys.answer(request, key, { status: 201, location: null, body });
}

const kept = () => db.prepare('SELECT key FROM idempotency_keys ORDER BY key').pluck().all();

describe('an erasure', () => {
  test('drops the answers that hold the person, of that tenant alone', () => {
    keep('by-id', '{"data":{"id":"led_1"}}');
    keep('by-address', '{"data":{"email":"ann@example.com"}}');
    keep('by-name', JSON.stringify({ data: { name: 'Ann "the" \\ O\'Neil' } }));
    keep('another', '{"data":{"id":"led_2"}}');
    keep('elsewhere', '{"data":{"id":"led_1"}}', { tenantId: 'ten_b' });
    keys.forgetHolding('ten_a', ['led_1', 'ann@example.com', 'Ann "the" \\ O\'Neil', '']);
    expect(kept()).toEqual(['another', 'elsewhere']);
  });

  test('leaves a running request its reservation', () => {
    const request = { tenantId: 'ten_a', route: 'POST /v1/leads', key: 'running', fingerprint: 'f' };
    keys.reserve(request, { token: 't', now: T0, leaseUntil: T0 + 100, expiresAt: T0 + 1_000 });
    keys.forgetHolding('ten_a', ['led_1']);
    expect(kept()).toEqual(['running']);
  });
});

test('expired keys go with the reservations that follow, a bounded number each time', () => {
  for (let i = 0; i < 50; i++) keep(`old-${i}`, '{}');
  const reserve = (key: string, now: number) =>
    keys.reserve(
      { tenantId: 'ten_a', route: 'POST /v1/leads', key, fingerprint: 'f' },
      { token: key, now, leaseUntil: now + 100, expiresAt: now + 1_000 },
    );
  reserve('new-1', T0 + 1_000);
  expect(kept()).toHaveLength(31);
  reserve('new-2', T0 + 1_000);
  reserve('new-3', T0 + 1_000);
  expect(kept()).toEqual(['new-1', 'new-2', 'new-3']);
});

test('the sweep walks along the expiry', () => {
  const plan = db
    .prepare<[], { detail: string }>(
      'EXPLAIN QUERY PLAN SELECT rowid FROM idempotency_keys WHERE expires_at <= 1 ORDER BY expires_at LIMIT 20',
    )
    .all();
  expect(plan.map((step) => step.detail).join()).toContain('idempotency_keys_by_expiry');
});
