import type { Database } from 'better-sqlite3';
import type { AttemptRecord } from '../../../model/delivery.ts';

/** An `attempts` row. */
export interface AttemptRow {
  id: string;
  attempt: number;
  started_at: number;
  duration_ms: number;
  detail: string;
}

type AttemptDetail = Omit<AttemptRecord, 'id' | 'attempt' | 'startedAt' | 'durationMs'>;

export function toAttempt(row: AttemptRow): AttemptRecord {
  return {
    id: row.id,
    attempt: row.attempt,
    startedAt: row.started_at,
    durationMs: row.duration_ms,
    ...(JSON.parse(row.detail) as AttemptDetail),
  };
}

/** An attempt as the table holds it. */
export interface StoredAttempt extends Pick<AttemptRecord, 'id' | 'attempt' | 'startedAt' | 'durationMs'> {
  /** The rest as JSON. */
  detail: string;
}

/** Made before the transaction, which should hold its lock for SQL only. */
export function toStored(record: AttemptRecord): StoredAttempt {
  const { id, attempt, startedAt, durationMs, requestHeaders, bodySignature, response, error, timings } =
    record;
  const detail = { requestHeaders, bodySignature, response, error, timings } satisfies AttemptDetail;
  return { id, attempt, startedAt, durationMs, detail: JSON.stringify(detail) };
}

export function createAttemptSql(db: Database) {
  const insert = db.prepare<[string, string, number, number, number, string]>(
    'INSERT INTO attempts (id, delivery_id, attempt, started_at, duration_ms, detail) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const selectSince = db.prepare<[number], { endpointId: string; startedAt: number }>(
    `SELECT d.endpoint_id AS endpointId, a.started_at AS startedAt
     FROM attempts a JOIN deliveries d ON d.id = a.delivery_id
     WHERE a.started_at > ? ORDER BY a.started_at`,
  );

  return {
    insert(deliveryId: string, { id, attempt, startedAt, durationMs, detail }: StoredAttempt): void {
      insert.run(id, deliveryId, attempt, startedAt, durationMs, detail);
    },
    since: (since: number) => selectSince.all(since),
  };
}
