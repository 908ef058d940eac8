import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createChanges, type StoreStatements } from '../../../src/store/changes.ts';
import { type Connection, connect } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { createProfileResolver } from '../../../src/store/postgres/reads/profiles.ts';
import { createReads } from '../../../src/store/postgres/reads.ts';
import { answeredLater, createScriptRunner } from '../../../src/store/postgres/runner.ts';
import { known, rows } from '../../../src/store/postgres/sql/prepared.ts';
import { slownessOfMachine } from '../../support/cpu-time.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts';
import { ANY, rowsOf } from '../contract/signal-list.ts';

describe.skipIf(mayLackPostgres())('the SQL of changes and reads', () => {
  let server: PostgresServer;
  let db: Connection;
  beforeAll(async () => {
    server = await startPostgres();
    db = await connect(await server.createDatabase());
    await migrate(db);
  });
  afterAll(async () => {
    await db.close();
    await server[Symbol.asyncDispose]();
  });

  test('is valid on PostgreSQL, statement by statement', async () => {
    createScriptRunner(db);
    createReads(db);
    const faults: string[] = [];
    for (const { name, text } of known.values()) {
      await db.execute(`PREPARE test_${name} AS ${text}`).catch((error: Error) => {
        faults.push(`${error.message} in: ${text}`);
      });
    }
    expect(faults).toEqual([]);
    expect(known.size).toBeGreaterThan(250);
  });

  test('a rare external ID is found by its index, however many signals share another', async () => {
    await db.execute(`SET session_replication_role = replica`);
    await db.execute(`INSERT INTO signals (seq, id, tenant_id, profile_id, platform, signal_type, classification, score, timestamp,
        company_domain, external_id, wire, explanation, text)
      SELECT ((1700000000000 + i) << 21) + i % 101, 'sig_' || i, 'ten_a', 'icp_a', 'feed' || i, 'intent_post', 'hot', i % 101,
        1700000000000 + i, '', 'guid', '{"text":"' || repeat(md5(i::text), 50) || '","external_id":"guid"}', '{}', ''
      FROM generate_series(1, 20000) i`);
    await db.execute('ANALYZE signals');
    const { listSignals } = createReads(db);
    for (const sort of ['-timestamp', 'timestamp', '-icp_score'] as const) {
      const times: number[] = [];
      for (let i = 0; i < 3; i++) {
        const since = performance.now();
        expect(rowsOf(await listSignals('ten_a', { ...ANY, sort, externalId: 'rare' }))).toEqual([]);
        times.push(performance.now() - since);
      }
      // Without the index: 200 ms and more, to extract 20,000 IDs.
      expect(Math.min(...times)).toBeLessThan(50 * slownessOfMachine());
    }
  });

  // All names were read: a list of an account that had made and deleted 100,000 profiles took up to 1 s.
  test('profiles of a filter are found by an index, however many were deleted', async () => {
    await db.execute(`SET session_replication_role = replica`);
    await db.execute(`INSERT INTO icp_profiles (id, tenant_id, name, name_key, settings, active, created_at, deleted_at)
      SELECT 'icp_' || i, 'ten_names', 'Name', CASE WHEN i > 30 THEN 'name ' || i ELSE 'again' END, '{}', false, i, i + 1
      FROM generate_series(1, 50000) i`);
    await db.execute('ANALYZE icp_profiles');
    const resolve = createProfileResolver(db);
    const times: number[] = [];
    for (let i = 0; i < 3; i++) {
      const since = performance.now();
      expect((await resolve('ten_names', ['icp_7', 'NAME 40', 'Name 41', 'name'])).sort()).toEqual([
        ...['icp_40', 'icp_41', 'icp_7'],
      ]);
      times.push(performance.now() - since);
    }
    expect(await resolve('ten_names', ['Again'])).toHaveLength(20);
    expect(await resolve('ten_other', ['icp_7', 'again'])).toEqual([]);
    // If all are read: 50 ms and more.
    expect(Math.min(...times)).toBeLessThan(20 * slownessOfMachine());
  });

  test.each(['hasSignalsOf', 'removeSignalsOf'] as const)(
    '%s reads no signals of other platforms',
    async (name) => {
      await db.execute(`SET session_replication_role = replica`);
      await db.execute(`TRUNCATE signals CASCADE;
      INSERT INTO tenants (id, name, plan, created_at) VALUES ('ten_${name}', 'A', 'pro', 1);
      INSERT INTO icp_profiles (id, tenant_id, name, settings, active, created_at) VALUES ('icp_${name}', 'ten_${name}', 'A', '{}', true, 1);
      INSERT INTO signals (seq, id, tenant_id, profile_id, platform, signal_type, classification, score, timestamp,
        company_domain, external_id, wire, explanation, text)
      SELECT ((1800000000000 + i) << 21) + ${name.length << 7} + i % 101, '${name}_' || i, 'ten_${name}', 'icp_${name}', 'feed' || i % 2, 'intent_post', 'hot',
        i % 101, 1800000000000 + i, '', 'x' || i, '{}', '{}', ''
      FROM generate_series(1, 20000) i`);
      await db.execute('ANALYZE signals');
      const changes = createChanges(answeredLater<StoreStatements>());
      const run = createScriptRunner(db);
      const ask = {
        hasSignalsOf: createReads(db).hasSignalsOf,
        removeSignalsOf: (tenantId: string, platform: string) =>
          run(changes.removeSignalsOf(tenantId, platform)),
      };
      // As a connection that uses a statement often may do.
      await db.execute("BEGIN; SET LOCAL plan_cache_mode = 'force_generic_plan'");
      try {
        await ask[name](`ten_${name}`, 'sample');
        const [read] = await rows<[], { count: number }>(
          db,
          `SELECT (seq_tup_read + idx_tup_fetch)::int AS count FROM pg_stat_xact_user_tables WHERE relname = 'signals'`,
        )();
        expect(read?.count).toBeLessThan(100);
      } finally {
        await db.execute('ROLLBACK');
      }
    },
  );
});
