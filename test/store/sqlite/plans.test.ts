import type { Database } from 'better-sqlite3';
import { afterAll, expect, test } from 'vitest';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { createDeliveryPages } from '../../../src/store/sqlite/reads/deliveries.ts';
import { createBoardScans } from '../../../src/store/sqlite/reads/leads.ts';
import { createDigestScans } from '../../../src/store/sqlite/reads/mail.ts';
import { createRunner, createStatements } from '../../../src/store/sqlite/runner.ts';
import { createReads } from '../../../src/store/sqlite/sqlite-store.ts';
import { createWriteAheadLog } from '../../../src/store/sqlite/transaction.ts';

/** Tables in which a tenant can have a million rows. */
const LARGE =
  /^(signals|signal_places|signal_people|signal_near_keys|signal_feedback|signal_triage|source_signals|leads|lead_\w+|stage_moves|companies|events|event_skips|deliveries|delivery_bodies|attempts|campaign_\w+|audit)$/;

/**
 * Statements that scan an index from its start up to a limit, or all rows of a tenant because their result
 * covers all of them.
 */
const WALKS = [
  /WHERE (s\.)?tenant_id = \? ORDER BY (s\.)?seq DESC LIMIT/,
  /ORDER BY l\.rowid LIMIT/,
  /FROM audit ORDER BY position LIMIT/,
  // After a clock change, all waiting deliveries are updated at once.
  /^UPDATE deliveries SET next_attempt_at/,
];

const db = openDatabase(':memory:');
migrate(db);
afterAll(() => db.close());

/** Every statement prepared for reads and changes. */
function allStatements(): string[] {
  const texts = new Set<string>();
  const listening = new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]) => {
        if (name === 'prepare') texts.add(String(args[0]));
        return Reflect.apply(value, target, args);
      };
    },
  }) as Database;
  createReads(listening);
  createRunner(listening, createStatements(listening, createWriteAheadLog(db)));
  createDeliveryPages(listening);
  createBoardScans(listening);
  createDigestScans(listening);
  return [...texts].map((text) => text.replace(/\s+/g, ' ').trim());
}

/** The tables of a statement by their aliases. */
function tableOf(sql: string, name: string): string {
  return new RegExp(`(?:FROM|JOIN|,)\\s+(\\w+)\\s+(?:AS\\s+)?${name}\\b`).exec(sql)?.[1] ?? name;
}

/** A value for each parameter. */
function valuesFor(sql: string): unknown[] {
  const named = [...sql.matchAll(/[:@]([A-Za-z]\w*)/g)].map(([, name]) => [name, 1]);
  const marks = sql.match(/\?/g)?.length ?? 0;
  return named.length > 0 ? [Object.fromEntries(named)] : Array.from({ length: marks }, () => 1);
}

/** Steps that read all rows of a large table, or all of one tenant. */
function wideSteps(sql: string): string[] {
  const steps = db.prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...valuesFor(sql));
  return steps
    .map(({ detail }) => detail)
    .filter((detail) => {
      const [, verb, name = ''] = /^(SCAN|SEARCH) (\w+)/.exec(detail) ?? [];
      if (verb === undefined || !LARGE.test(tableOf(sql, name))) return false;
      return verb === 'SCAN' || /\(tenant_id=\?\)$/.test(detail);
    });
}

test('every statement is valid SQL, including those not run by any test', () => {
  for (const sql of allStatements().filter(
    (text) => !text.startsWith('PRAGMA') && !/^(BEGIN|COMMIT|ROLLBACK)/.test(text),
  )) {
    expect(() => db.prepare(`EXPLAIN ${sql}`).all(...valuesFor(sql)), sql).not.toThrow();
  }
});

test('no statement reads all signals of a lead for its best or newest ones, or for a page of them', () => {
  const ordered = allStatements().filter((sql) =>
    / FROM lead_signals [^)]*lead_id = \? .*ORDER BY/.test(sql),
  );
  expect(ordered).toHaveLength(4);
  for (const sql of ordered) {
    const steps = db
      .prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...valuesFor(sql));
    const plan = steps.map(({ detail }) => detail).join('; ');
    expect(plan).toMatch(
      /lead_signals_by_score \(lead_id=\? AND classification=\?\)|PRIMARY KEY \(lead_id=\?/,
    );
    expect(plan).not.toContain('TEMP B-TREE FOR ORDER BY');
  }
});

test('no statement scans a large table, or all rows of a tenant in it, for a few rows', () => {
  const statements = allStatements().filter((text) => /^(SELECT|WITH|UPDATE|DELETE)/.test(text));
  expect(statements.length).toBeGreaterThan(200);
  const wide = statements
    .filter((sql) => !WALKS.some((walk) => walk.test(sql)))
    .flatMap((sql) => wideSteps(sql).map((step) => `${step}: ${sql}`));
  expect(wide).toEqual([]);
});
