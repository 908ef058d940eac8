import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Connection, connect } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { createReads } from '../../../src/store/postgres/reads.ts';
import { createScriptRunner } from '../../../src/store/postgres/runner.ts';
import { known } from '../../../src/store/postgres/sql/prepared.ts';
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
      expect(Math.min(...times)).toBeLessThan(50);
    }
  });
});
