import type { Database } from 'better-sqlite3';
import type { Taking } from '../../delivery-store.ts';
import type { CommittedSignal, NewSignal } from '../../signal-store.ts';
import { signalChanges } from './signals.ts';

/** As it crosses to the writer: what a lane holds is one text, the reserved deliveries included. */
export interface StoredTaking extends Omit<Taking, 'lanes'> {
  lanes: (Omit<Taking['lanes'][number], 'held'> & { held: string })[];
}

/** Deliveries that a process takes in the commit which stores them. */
export function inHandChanges(db: Database) {
  const { commitSignals } = signalChanges(db);
  const selectActive = db
    .prepare<[string, number], number>(
      "SELECT 1 FROM webhook_endpoints WHERE id = ? AND version = ? AND status = 'active' AND deleted_at IS NULL",
    )
    .pluck();
  // Changes nothing where another process holds the endpoint.
  const takeLease = db.prepare<[string, string, number, string, number]>(
    `INSERT INTO lane_leases (endpoint_id, token, until, held) VALUES (?, ?, ?, ?)
     ON CONFLICT (endpoint_id) DO UPDATE SET token = excluded.token, until = excluded.until, held = excluded.held
       WHERE token = excluded.token OR until <= ?`,
  );

  return {
    commitSignalsHeld(signals: NewSignal[], { lanes, now, leaseUntil, leaseToken }: StoredTaking) {
      const committed: CommittedSignal[] = commitSignals(signals);
      const created = new Set(
        signals
          .filter((_, i) => committed[i]?.status === 'created')
          .flatMap(({ events }) => events.flatMap(({ deliveries }) => deliveries.map(({ id }) => id))),
      );
      const taken = lanes.flatMap(({ endpointId, knownVersion, held, deliveryIds }) => {
        const stored = deliveryIds.filter((id) => created.has(id));
        if (stored.length === 0 || selectActive.get(endpointId, knownVersion) === undefined) return [];
        const { changes } = takeLease.run(endpointId, leaseToken, leaseUntil, held, now);
        return changes === 1 ? stored : [];
      });
      return { committed, taken };
    },
  };
}
