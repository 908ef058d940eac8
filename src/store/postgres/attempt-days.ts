import { DAY_MS } from '../../lib/clock.ts';
import { idFloor } from '../../lib/ids.ts';
import type { Connection } from './connection.ts';
import { codeOf } from './faults.ts';
import { prepared } from './sql/prepared.ts';

/** The number of days whose table is created in advance. */
const AHEAD = 3;
/** An arbitrary lock number of our own: "SgPd". */
const DAYS_LOCK = 0x53675064;
/** The maximum time that writers of attempts wait while a table is created or dropped. */
const LOCK_TIMEOUT_MS = 500;
/** A longer read or write of attempts is in progress, or rows of the day are already elsewhere. */
const NOT_NOW = ['55P03', '23514'];

const NAME = /^attempts_(\d{4})(\d\d)(\d\d)$/;

const readDays = prepared(
  `SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
   WHERE i.inhparent = 'attempts'::regclass ORDER BY c.relname`,
);
const readNow = prepared('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint');
const isElsewhere = prepared('SELECT EXISTS (SELECT 1 FROM attempts_other WHERE id >= ? AND id < ?)');

/**
 * Creates missing tables for the days from `behind` days ago to three days ahead, by the database's clock. If the
 * table of a day cannot be created now, its attempts are in `attempts_other`.
 */
export async function makeAttemptDays(db: Connection, behind = 0): Promise<void> {
  const today = Math.floor(Number((await db.ask(readNow, [])).rows[0]?.[0]) / DAY_MS);
  const known = new Set(await daysOf(db));
  for (let day = today - behind; day <= today + AHEAD; day++) {
    if (known.has(day)) continue;
    const [from, to] = [idFloor('att', day * DAY_MS), idFloor('att', (day + 1) * DAY_MS)];
    await change(db, async () => {
      if ((await db.ask(isElsewhere, [from, to])).rows[0]?.[0] === true) return;
      await db.execute(
        `CREATE TABLE IF NOT EXISTS ${nameOf(day)} PARTITION OF attempts FOR VALUES FROM ('${from}') TO ('${to}')`,
      );
    });
  }
}

/** Drops the tables of days that ended before `before`. */
export async function dropAttemptDays(db: Connection, before: number): Promise<void> {
  for (const day of await daysOf(db)) {
    if ((day + 1) * DAY_MS <= before)
      await change(db, () => db.execute(`DROP TABLE IF EXISTS ${nameOf(day)}`));
  }
}

/** Changes one table in a separate transaction, one node at a time, or leaves it for the next call. */
async function change(db: Connection, work: () => Promise<void>): Promise<void> {
  try {
    await db.transact(async () => {
      await db.execute(
        `SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}; SELECT pg_advisory_xact_lock(${DAYS_LOCK})`,
      );
      await work();
    });
  } catch (error) {
    if (!NOT_NOW.includes(codeOf(error) ?? '')) throw error;
  }
}

/** Days since the epoch, ascending. */
async function daysOf(db: Connection): Promise<number[]> {
  const { rows } = await db.ask(readDays, []);
  return rows.flatMap(([name]) => {
    const [, year, month, day] = NAME.exec(String(name)) ?? [];
    return year === undefined ? [] : [Date.UTC(Number(year), Number(month) - 1, Number(day)) / DAY_MS];
  });
}

function nameOf(day: number): string {
  return `attempts_${new Date(day * DAY_MS).toISOString().slice(0, 10).replaceAll('-', '')}`;
}
