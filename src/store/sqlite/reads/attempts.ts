import type { Database } from 'better-sqlite3';
import type { AttemptLog, AttemptRecord } from '../../../model/delivery.ts';
import { sentHeaders } from '../../../model/delivery-headers.ts';

interface AttemptRow {
  id: string;
  delivery_id: string;
  attempt: number;
  started_at: number;
  duration_ms: number;
  detail: string;
}

/** What of an attempt is kept as JSON. */
export type AttemptDetail = Omit<AttemptRecord, 'id' | 'attempt' | 'startedAt' | 'durationMs'>;

export function toAttempt(row: AttemptRow): AttemptLog {
  const { id, attempt, started_at: startedAt } = row;
  const detail = JSON.parse(row.detail) as AttemptDetail;
  const requestHeaders =
    detail.sent === null ? {} : sentHeaders({ deliveryId: row.delivery_id, attempt, startedAt }, detail.sent);
  return { id, attempt, startedAt, durationMs: row.duration_ms, ...detail, requestHeaders };
}

/** The attempts of a delivery, oldest first. */
export function createAttemptList(db: Database): (deliveryId: string) => AttemptLog[] {
  const selectOf = db.prepare<[string], AttemptRow>(
    'SELECT * FROM attempts WHERE delivery_id = ? ORDER BY attempt, started_at, id',
  );

  return (deliveryId) => selectOf.all(deliveryId).map(toAttempt);
}
