import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connect } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { mayLackPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts';

describe.skipIf(mayLackPostgres())('the schema of a PostgreSQL database', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('is created only once by several nodes that start at the same time', async () => {
    const config = await server.createDatabase();
    const nodes = await Promise.all([connect(config), connect(config), connect(config)]);
    const results = await Promise.all(nodes.map((db) => migrate(db)));
    expect(results.map(({ from }) => from).sort()).toEqual([0, 1, 1]);
    for (const db of nodes) await db.close();
  });

  test('is not created in a database of another application', async () => {
    const db = await connect(await server.createDatabase());
    await db.execute('CREATE TABLE invoices (id bigint)');
    await expect(migrate(db)).rejects.toMatchObject({ fault: 'foreign_database' });
    await db.execute('SELECT id FROM invoices');
    await db.close();
  });

  test('is left unchanged by older releases', async () => {
    const db = await connect(await server.createDatabase());
    await migrate(db);
    await db.execute('UPDATE schema_version SET version = 1000');
    await expect(migrate(db)).rejects.toMatchObject({ fault: 'newer_schema' });
    await db.close();
  });

  test('compares all texts by their bytes', async () => {
    const db = await connect(await server.createDatabase());
    await migrate(db);
    const { rows } = await db.ask(
      {
        name: '',
        text: `SELECT table_name || '.' || column_name FROM information_schema.columns
               WHERE table_schema = 'public' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'`,
        members: null,
      },
      [],
    );
    expect(rows).toEqual([]);
    await db.close();
  });

  test('does not collect new words, which the post of anybody would have to enter into the index', async () => {
    const db = await connect(await server.createDatabase());
    await migrate(db);
    const { rows } = await db.ask(
      {
        name: '',
        text: `SELECT c.relname FROM pg_class c JOIN pg_am a ON a.oid = c.relam
               WHERE a.amname = 'gin' AND NOT coalesce('fastupdate=off' = ANY (c.reloptions), false)`,
        members: null,
      },
      [],
    );
    expect(rows).toEqual([]);
    await db.close();
  });
});
