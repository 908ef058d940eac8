import type { Database } from 'better-sqlite3';
import { idFloor } from '../../../lib/ids.ts';
import type { AttemptLog, AttemptRecord } from '../../../model/delivery.ts';
import { sentHeaders } from '../../../model/delivery-headers.ts';

/** An `attempts` row. */
export interface AttemptRow {
  id: string;
  delivery_id: string;
  attempt: number;
  started_at: number;
  duration_ms: number;
  detail: string;
}

type AttemptDetail = Omit<AttemptRecord, 'id' | 'attempt' | 'startedAt' | 'durationMs'>;

export function toAttempt(row: AttemptRow): AttemptLog {
  const { id, attempt, started_at: startedAt } = row;
  const detail = JSON.parse(row.detail) as AttemptDetail;
  const requestHeaders =
    detail.sent === null ? {} : sentHeaders({ deliveryId: row.delivery_id, attempt, startedAt }, detail.sent);
  return { id, attempt, startedAt, durationMs: row.duration_ms, ...detail, requestHeaders };
}

/** An attempt as the table holds it. */
export interface StoredAttempt extends Pick<AttemptRecord, 'id' | 'attempt' | 'startedAt' | 'durationMs'> {
  /** The rest as JSON. */
  detail: string;
}

/** Made before the transaction, which should hold its lock for SQL only. */
export function toStored({ id, attempt, startedAt, durationMs, ...rest }: AttemptRecord): StoredAttempt {
  const { sent, response, error, timings } = rest;
  const detail = { sent, response, error, timings } satisfies AttemptDetail;
  return { id, attempt, startedAt, durationMs, detail: JSON.stringify(detail) };
}

/** How `detail` says that the request was sent twice. */
const REPEATED = '"repeated":true';

export function createAttemptSql(db: Database) {
  const insert = db.prepare<[string, string, number, number, number, string]>(
    'INSERT INTO attempts (id, delivery_id, attempt, started_at, duration_ms, detail) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const selectOf = db.prepare<[string], AttemptRow>(
    'SELECT * FROM attempts WHERE delivery_id = ? ORDER BY attempt, started_at, id',
  );
  // A request that was sent twice counts twice. Told from the text, which cannot fail at the start of a server as parsing
  // could: within a string of JSON the quotation marks would be escaped.
  const selectSince = db.prepare<[string, string, number], { endpointId: string; startedAt: number }>(
    `SELECT d.endpoint_id AS endpointId, a.started_at AS startedAt
     FROM attempts a JOIN json_each(iif(instr(a.detail, ?), '[1, 2]', '[1]'))
       JOIN deliveries d ON d.id = a.delivery_id
     WHERE a.id >= ? AND a.started_at > ? ORDER BY a.started_at`,
  );

  return {
    insert(deliveryId: string, { id, attempt, startedAt, durationMs, detail }: StoredAttempt): void {
      insert.run(id, deliveryId, attempt, startedAt, durationMs, detail);
    },
    of: (deliveryId: string): AttemptLog[] => selectOf.all(deliveryId).map(toAttempt),
    since: (since: number) => selectSince.all(REPEATED, idFloor('att', since), since),
  };
}
