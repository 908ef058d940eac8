import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { openDatabase } from '../../../src/store/sqlite/database.ts';
import { dueMailFace } from '../../../src/store/sqlite/face/scans.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { mailReads } from '../../../src/store/sqlite/reads/mail.ts';

const MAILS = 30_000;
const LAST_DUE = 1_000;

/** An outbox with mail of the given number of tenants, which were made due one after the other. */
function outboxOf(tenants: number) {
  const db = openDatabase(':memory:');
  onTestFinished(() => void db.close());
  migrate(db);
  db.pragma('foreign_keys = OFF');
  db.prepare(
    `WITH RECURSIVE n AS (SELECT 0 AS n UNION ALL SELECT n + 1 FROM n WHERE n < :most - 1)
     INSERT INTO mail_outbox (id, tenant_id, kind, facts, created_at, next_try_at, announced)
     SELECT printf('mal_%06d', n), printf('ten_%05d', n % :tenants), CASE WHEN n % 50 = 0 THEN 'password_reset' ELSE 'message' END,
       json_object('text', printf('%.500c', 'x')), 0, n * 7919 % :due, 1 FROM n`,
  ).run({ most: MAILS, tenants, due: LAST_DUE });
  const parts: number[] = [];
  const read = async <T>(query: () => T): Promise<T> => {
    const since = performance.now();
    const found = query();
    parts.push(performance.now() - since);
    return found;
  };
  return { db, parts, ...dueMailFace(db, systemClock, read) };
}

test.each([1, 7, 15_000])(
  'mail of %d tenants is found in turns without reading all of it',
  async (tenants) => {
    const { db, parts, dueMail } = outboxOf(tenants);
    const inTurns = db
      .prepare<[number, number], string>(
        `SELECT id FROM (SELECT id, next_try_at, kind = 'password_reset' AS urgent,
                         row_number() OVER (PARTITION BY kind, tenant_id ORDER BY next_try_at, id) AS turn
                       FROM mail_outbox WHERE next_try_at <= ?)
       ORDER BY urgent DESC, turn, next_try_at, id LIMIT ?`,
      )
      .pluck();
    for (const [now, limit] of [
      [LAST_DUE, 20],
      [LAST_DUE, 700],
      [30, 700],
    ] as const) {
      parts.length = 0;
      const found = await dueMail(now, limit);
      const since = performance.now();
      const expected = inTurns.all(now, limit);
      const atOnce = performance.now() - since;
      expect(found.map(({ id }) => id)).toEqual(expected);
      if (limit === 20) expect(parts.toSorted((a, b) => a - b).at(-2)).toBeLessThan(atOnce / 2);
    }
  },
);

test('mail that was announced is not read again', () => {
  const { db } = outboxOf(1);
  const { unannouncedMail } = mailReads(db);
  const msOf = (query: () => unknown) => {
    const since = performance.now();
    query();
    return performance.now() - since;
  };
  const all = msOf(() => db.prepare('SELECT max(announced) FROM mail_outbox').get());
  const looks = [1, 2, 3].map(() => msOf(() => expect(unannouncedMail(20)).toEqual([])));
  expect(Math.min(...looks)).toBeLessThan(all / 4);
});
