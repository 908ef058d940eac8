import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Connection, connect } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { createReads } from '../../../src/store/postgres/reads.ts';
import { createScriptRunner } from '../../../src/store/postgres/runner.ts';
import { known } from '../../../src/store/postgres/sql/prepared.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts';

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
});
