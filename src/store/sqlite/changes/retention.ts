import type { Database } from 'better-sqlite3';
import { idFloor } from '../../../lib/ids.ts';
import { endUndelivered } from '../../../rules/dead-letters.ts';
import type { DeliveryLogStore } from '../../delivery-log-store.ts';
import type { Part } from '../../store.ts';
import { createDeliveryWalk } from '../reads/delivery-walk.ts';
import { WAITING } from '../reads/shown-state.ts';
import { createBodies } from './bodies.ts';
import { createDiscard } from './discard.ts';
import { createDeadNotices } from './notices.ts';

interface HeldLane {
  id: string;
  dead_letter: number;
}

/** What time takes away, a bounded part at a time. */
export function retentionChanges(db: Database) {
  const discardWaiting = createDiscard(db);
  const walk = createDeliveryWalk(db);

  const selectPausedSince = db.prepare<[number], HeldLane>(
    `SELECT id, json_extract(settings, '$.dead_letter') AS dead_letter FROM webhook_endpoints
     WHERE status = 'paused' AND deleted_at IS NULL AND paused_at <= ?`,
  );
  const endHeld = db.prepare<[string, number | null, string, number, number], { id: string }>(
    `UPDATE deliveries SET status = ?, next_attempt_at = NULL, expires_at = ? WHERE id IN (
       SELECT id FROM deliveries INDEXED BY deliveries_due
       WHERE endpoint_id = ? AND ${WAITING} AND next_attempt_at <= ? ORDER BY next_attempt_at LIMIT ?)
     RETURNING id`,
  );
  const selectExpired = db
    .prepare<[number, number], string>(
      "SELECT id FROM deliveries INDEXED BY deliveries_expiring WHERE status = 'dead' AND expires_at <= ? LIMIT ?",
    )
    .pluck();
  const markExpired = db.prepare<[string]>("UPDATE deliveries SET status = 'expired' WHERE id = ?");
  const bodies = createBodies(db);
  const addDeadNotice = createDeadNotices(db);
  const selectUncleared = db
    .prepare<[], string>('SELECT id FROM webhook_endpoints WHERE deleted_at IS NOT NULL AND cleared = 0')
    .pluck();
  const markCleared = db.prepare<[string]>('UPDATE webhook_endpoints SET cleared = 1 WHERE id = ?');
  const deleteAttempts = db.prepare<[string, number]>(
    'DELETE FROM attempts WHERE id IN (SELECT id FROM attempts WHERE id < ? ORDER BY id LIMIT ?)',
  );
  const deleteDelivery = db.prepare<[string]>('DELETE FROM deliveries WHERE id = ?');
  const deleteBatched = db.prepare<[string]>('DELETE FROM batched_events WHERE delivery_id = ?');
  const deleteLatePlace = db.prepare<[string]>('DELETE FROM late_deliveries WHERE delivery_id = ?');
  const selectRemovable = db
    .prepare<[string], number>(
      `SELECT 1 FROM deliveries d WHERE d.id = ? AND NOT (d.${WAITING})
         AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.delivery_id = d.id)`,
    )
    .pluck();
  const deleteEndpoints = db.prepare<[number, number]>(
    `DELETE FROM webhook_endpoints WHERE id IN (
       SELECT e.id FROM webhook_endpoints e WHERE e.deleted_at < ? AND e.cleared = 1
         AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.endpoint_id = e.id) LIMIT ?)`,
  );
  const pruneTestSends = db.prepare<[number]>('DELETE FROM test_sends WHERE started_at < ?');

  function remove(id: string): boolean {
    if (selectRemovable.get(id) === undefined) return false;
    bodies.remove(id);
    deleteBatched.run(id);
    deleteLatePlace.run(id);
    deleteDelivery.run(id);
    return true;
  }

  return {
    endHeld({ heldBefore, deadUntil, limit }) {
      let ended = 0;
      for (const { id, dead_letter } of selectPausedSince.all(heldBefore)) {
        if (ended >= limit) break;
        const end = endUndelivered(dead_letter === 1, deadUntil);
        const expiresAt = end.status === 'dead' ? end.expiresAt : null;
        const moved = endHeld.all(end.status, expiresAt, id, heldBefore, limit - ended);
        if (expiresAt !== null) for (const each of moved) addDeadNotice(each.id, expiresAt);
        ended += moved.length;
      }
      return ended;
    },
    expireDead({ now, limit }) {
      const ids = selectExpired.all(now, limit);
      for (const id of ids) {
        markExpired.run(id);
        bodies.remove(id);
      }
      return ids.length;
    },
    discardOfDeleted(limit) {
      let discarded = 0;
      for (const id of selectUncleared.all()) {
        discarded += discardWaiting(id, limit - discarded);
        if (discarded >= limit) break;
        markCleared.run(id);
      }
      return discarded;
    },
    pruneAttempts: (before, limit) => deleteAttempts.run(idFloor('att', before), limit).changes,
    pruneDeliveries({ tenantId, before, after, limit }) {
      const { found, next } = walk(
        {
          ...{ tenantId, endpointId: null, from: null, to: before, direction: 'ASC' },
          ...{ statuses: null, ofEndpoints: null, eventType: null },
        },
        after === null ? null : { createdAt: Number(after[0]), id: String(after[1]) },
        { scan: limit, limit },
      );
      const removed = found.filter(({ id }) => remove(id)).length;
      return { removed, next: next === null ? null : [next.createdAt, next.id] };
    },
    pruneEndpoints: (before, limit) => deleteEndpoints.run(before, limit).changes,
    pruneBodyTails: (limit) => bodies.removeUnusedTails(limit),
    pruneTestSends: (before) => pruneTestSends.run(before).changes,
  } satisfies Part<DeliveryLogStore>;
}
