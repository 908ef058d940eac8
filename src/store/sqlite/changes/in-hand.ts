import type { Database } from 'better-sqlite3';
import type { Taking } from '../../delivery-store.ts';
import type { CommittedSignal, NewSignal } from '../../signal-store.ts';
import type { SignalChanges } from './signals.ts';

/** As it crosses to the writer. */
export interface StoredTaking extends Omit<Taking, 'lanes'> {
  /** JSON: `{id of an endpoint: the version that the caller knows}`. */
  lanes: string;
  process: string;
}

/** Deliveries that a process takes in the commit which stores them. */
export function inHandChanges(db: Database, { commitSignals }: Pick<SignalChanges, 'commitSignals'>) {
  // In most commits none: each lane is as the caller knows it, and its lease lasts.
  const selectUnready = db.prepare<Record<string, unknown>[], { endpointId: string; refused: 0 | 1 }>(
    `SELECT endpointId, refused FROM (
       SELECT j.key AS endpointId, e.id IS NULL OR ifnull(l.token <> :leaseToken AND l.until > :now, 0) AS refused,
              l.token IS NOT :leaseToken OR l.until < :renewBefore AS unleased
       FROM json_each(:lanes) j
         LEFT JOIN webhook_endpoints e
           ON e.id = j.key AND e.version = j.value AND e.status = 'active' AND e.deleted_at IS NULL
         LEFT JOIN lane_leases l ON l.endpoint_id = j.key)
     WHERE refused OR unleased`,
  );
  // What claims gave to the same process is held as before.
  const writeLease = db.prepare<[string, string, number, string]>(
    `INSERT INTO lane_leases (endpoint_id, token, until, held, process) VALUES (?, ?, ?, '{}', ?)
     ON CONFLICT (endpoint_id) DO UPDATE SET
       held = iif(token = excluded.token, held, excluded.held),
       token = excluded.token, until = excluded.until, process = excluded.process`,
  );

  return {
    /** `refused` are the endpoints whose deliveries wait for a claim. */
    commitSignalsHeld(
      signals: NewSignal[],
      { lanes, now, leaseUntil, renewBefore, leaseToken, process }: StoredTaking,
    ): { committed: CommittedSignal[]; refused: string[] } {
      const unready = selectUnready.all({ lanes, now, renewBefore, leaseToken });
      for (const { endpointId, refused } of unready) {
        if (refused === 0) writeLease.run(endpointId, leaseToken, leaseUntil, process);
      }
      const refused = unready.flatMap((lane) => (lane.refused === 1 ? [lane.endpointId] : []));
      return { committed: commitSignals(signals), refused };
    },
  };
}
