import type { Database } from 'better-sqlite3';
import { expect, test } from 'vitest';
import type { WalkTerms } from '../../../src/store/changes/deliveries.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { createDeliveryWalk, type LoggedTerms } from '../../../src/store/sqlite/reads/deliveries.ts';
import { claimsSql } from '../../../src/store/sqlite/sql/claims.ts';
import { deliveriesSql } from '../../../src/store/sqlite/sql/deliveries.ts';
import { eventsSql } from '../../../src/store/sqlite/sql/events.ts';
import { signalsSql } from '../../../src/store/sqlite/sql/signals.ts';

const ANY: WalkTerms = {
  tenantId: 'ten_a',
  endpointId: null,
  statuses: null,
  eventType: null,
  from: null,
  to: null,
  direction: 'DESC',
};

/** SQLite's plan for every statement prepared by `use`, by its text. */
function plansOf(use: (db: Database) => void): Map<string, string> {
  const db = openDatabase(':memory:');
  migrate(db);
  const plans = new Map<string, string>();
  const prepare = db.prepare.bind(db);
  const watched: Database = new Proxy(db, {
    get(target, name) {
      if (name !== 'prepare') return Reflect.get(target, name);
      return (sql: string) => {
        const explain = prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`);
        const named = [...sql.matchAll(/:(\w+)/g)].map(([, word = '']) => [word, 1]);
        const values = named.length > 0 ? [Object.fromEntries(named)] : [...sql.matchAll(/\?/g)].map(() => 1);
        plans.set(
          sql,
          explain
            .all(...values)
            .map((step) => step.detail)
            .join('; '),
        );
        return prepare(sql);
      };
    },
  });
  use(watched);
  db.close();
  return plans;
}

const walks: [string, Partial<LoggedTerms>, string][] = [
  ['all', {}, 'deliveries_by_time'],
  ['a time', { from: 1, to: 9 }, 'deliveries_by_time'],
  ['an event type', { eventType: 'deal.changed' }, 'deliveries_by_time'],
  ['an endpoint', { endpointId: 'whk_a' }, 'deliveries_of_endpoint'],
  [
    'an endpoint and an event type',
    { endpointId: 'whk_a', eventType: 'deal.changed' },
    'deliveries_of_endpoint',
  ],
  ['what was delivered', { statuses: ['delivered'] }, 'deliveries_delivered'],
  ['what an endpoint took', { statuses: ['delivered'], endpointId: 'whk_a' }, 'deliveries_of_endpoint'],
  ['what is held', { statuses: ['pending', 'retrying'], endpointState: 'paused' }, 'deliveries_by_time'],
  ['dead letters', { statuses: ['dead'] }, 'deliveries_ended'],
  ['dead letters of an endpoint', { statuses: ['dead'], endpointId: 'whk_a' }, 'deliveries_ended'],
];

test.each(walks)('a page of deliveries by %s is an index scan, never a sort', (_, terms, index) => {
  for (const direction of ['ASC', 'DESC'] as const) {
    for (const after of [null, { createdAt: 5, id: 'dlv_1' }]) {
      const plans = plansOf((db) => {
        createDeliveryWalk(db)({ ...ANY, ...terms, direction }, after, { scan: 10, limit: 5 });
      });
      for (const plan of plans.values()) {
        expect(plan).toMatch(new RegExp(`^SEARCH deliveries USING (COVERING )?INDEX ${index} \\(`));
        expect(plan).toContain('created_at,id');
        expect(plan).not.toContain('TEMP B-TREE');
      }
    }
  }
});

test('checks filters covered by an index in the index alone', () => {
  for (const terms of [{ eventType: 'deal.changed' }, { statuses: ['dead'], endpointId: 'whk_a' }] as const) {
    const plans = plansOf((db) => {
      createDeliveryWalk(db)(
        { ...ANY, ...terms, statuses: terms.statuses ? [...terms.statuses] : null },
        null,
        {
          scan: 10,
          limit: 5,
        },
      );
    });
    for (const plan of plans.values()) expect(plan).toContain('COVERING INDEX');
  }
});

/** SQLite's program for each statement of `work`, in order; every statement changes a row and returns 1. */
function programsOf(work: (db: Database) => void): string[][] {
  const db = openDatabase(':memory:');
  migrate(db);
  const programs: string[][] = [];
  const watched: Database = new Proxy(db, {
    get(target, name) {
      if (name !== 'prepare') return Reflect.get(target, name);
      return (sql: string) => {
        const explained = (...values: unknown[]) => {
          const explain = db.prepare<unknown[], { opcode: string }>(`EXPLAIN ${sql}`);
          programs.push(explain.all(...values).map(({ opcode }) => opcode));
        };
        const statement = {
          run(...values: unknown[]) {
            explained(...values);
            return { changes: 1 };
          },
          get(...values: unknown[]) {
            explained(...values);
            return 1;
          },
          pluck: () => statement,
        };
        return statement;
      };
    },
  });
  work(watched);
  db.close();
  return programs;
}

/** A statement that has a trigger, or writes what it reads from a query, needs a journal of its pages. */
function expectNoJournal(programs: readonly string[][]): void {
  for (const program of programs) {
    expect(program).not.toContain('Program');
    expect(program).not.toContain('InitCoroutine');
  }
}

test('storing a delivered outcome runs no trigger and needs no statement journal', () => {
  const programs = programsOf((db) => {
    const statements = deliveriesSql(db);
    statements.insertAttempt('att_1', 'dlv_1', 1, 0, 5, '{}');
    statements.finishDelivered(1, 'dlv_1', 0);
    statements.countAttempts('whk_1', 0, 9, 2);
  });
  expect(programs).toHaveLength(3);
  expectNoJournal(programs);
});

test('storing a signal or an event runs no trigger and needs no statement journal', () => {
  const signal = {
    timestamp: 1,
    score: 50,
    id: 'sig_1',
    tenantId: 'ten_a',
    profileId: 'icp_1',
    platform: 'x',
  };
  const rest = { signalType: 'review', classification: 'warm', companyDomain: '', externalId: null };
  const texts = { canonicalUrl: null, wire: '{}', explanation: '{}', text: '' };
  const programs = programsOf((db) => {
    signalsSql(db).insert({ ...signal, ...rest, ...texts });
    eventsSql(db).insertEvent('evt_1', 'ten_a', 'signal.detected', 'sig_1', 1, '{}', null);
  });
  expect(programs).toHaveLength(8);
  expectNoJournal(programs);
});

test('finds when a delivery is due without sorting all that are due at the same time', () => {
  const plans = [...plansOf(claimsSql)].filter(([sql]) => sql.startsWith('SELECT dueAt'));
  expect(plans).toHaveLength(2);
  for (const [, plan] of plans) expect(plan).not.toContain('LAST TERM OF ORDER BY');
});

test('a commit deletes long payload formats of deleted endpoints and old deliveries a few at a time', () => {
  const db = openDatabase(':memory:');
  migrate(db);
  db.pragma('foreign_keys = OFF');
  const text = 'x'.repeat(1_500_000);
  const tail = db.prepare("INSERT INTO body_tails (tenant_id, hash, text) VALUES ('ten_a', ?, ?)");
  const endpoint = db.prepare(
    `INSERT INTO webhook_endpoints
       (id, tenant_id, settings, secret_box, secret_last4, status, consecutive_failures, version, created_at, deleted_at, cleared)
     VALUES (?, 'ten_a', ?, x'', '', 'active', 0, 1, 0, 1, 1)`,
  );
  for (let i = 0; i < 5; i++) {
    tail.run(`hash_${i}`, text);
    endpoint.run(`whk_${i}`, JSON.stringify({ text }));
  }
  const [events, deliveries] = [eventsSql(db), deliveriesSql(db)];
  expect([1, 2, 3].map(() => events.deleteUnusedTails(500))).toEqual([3, 2, 0]);
  expect([1, 2, 3].map(() => deliveries.deleteEndpoints(2, 500))).toEqual([3, 2, 0]);
});
