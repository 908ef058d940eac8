import { expect, test } from 'vitest';
import { type Connection, connect } from '../../../src/store/postgres/connection.ts';
import { migrate } from '../../../src/store/postgres/migrate.ts';
import { createReads } from '../../../src/store/postgres/reads.ts';
import { mayLackPostgres, startPostgres } from '../../support/postgres.ts';

test.skipIf(mayLackPostgres())('a stored response arrives in small pieces, unchanged', async () => {
  await using server = await startPostgres();
  const db = await connect(await server.createDatabase());
  await migrate(db);
  // Characters of three bytes, so that pieces end within them.
  const body = `{"data":"${'名'.repeat(1_000_000)}"}`;
  await db.execute(
    `SET session_replication_role = replica; -- without the tenant's row
     INSERT INTO idempotency_keys (tenant_id, route, key, fingerprint, token, process, seed, started_at, expires_at, status, body, steps)
     VALUES ('ten_a', 'POST /v1/signals', 'long', 'f', 't', 'p', 't', 0, 1, 201, '${body}', ''),
            ('ten_a', 'POST /v1/signals', 'none', 'f', 't', 'p', 't', 0, 1, 204, NULL, '')`,
  );
  let longest = 0;
  const measured: Connection = {
    ...db,
    async ask(statement, values) {
      const answer = await db.ask(statement, values);
      for (const value of answer.rows.flat())
        if (value instanceof Uint8Array) longest = Math.max(longest, value.length);
      return answer;
    },
  };
  const { keptBody } = createReads(measured);
  const bodyOf = (key: string) =>
    keptBody({ tenantId: 'ten_a', route: 'POST /v1/signals', key, fingerprint: 'f' });

  expect((await bodyOf('long'))?.equals(Buffer.from(body))).toBe(true);
  expect(longest).toBeLessThanOrEqual(65_536);
  expect(await bodyOf('none')).toEqual(Buffer.alloc(0));
  expect(await bodyOf('other')).toBeNull();
  await db.close();
});
