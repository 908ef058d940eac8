import type { Database } from 'better-sqlite3';
import type { AttemptLog, AttemptRecord } from '../../../model/delivery.ts';
import { sentHeaders } from '../../../model/delivery.ts';
import { Table } from '../table.ts';

/** What of an attempt is kept as JSON. */
export type AttemptDetail = Omit<AttemptRecord, 'id' | 'attempt' | 'startedAt' | 'durationMs'>;

type KeptAttempt = Omit<AttemptRecord, keyof AttemptDetail> & { deliveryId: string; detail: AttemptDetail };

const ATTEMPTS = new Table<KeptAttempt>('attempts', {
  ...{
    id: 'plain',
    deliveryId: 'plain',
    attempt: 'plain',
    startedAt: 'plain',
    durationMs: 'plain',
    detail: 'json',
  },
});

function toAttempt({ deliveryId, detail, ...own }: KeptAttempt): AttemptLog {
  const requestHeaders = detail.sent === null ? {} : sentHeaders({ deliveryId, ...own }, detail.sent);
  return { ...own, ...detail, requestHeaders };
}

/** The attempts of a delivery, oldest first. */
export function createAttemptList(db: Database): (deliveryId: string) => AttemptLog[] {
  const selectOf = ATTEMPTS.select<[string]>(db, 'WHERE delivery_id = ? ORDER BY attempt, started_at, id');

  return (deliveryId) => selectOf.all(deliveryId).map(toAttempt);
}
