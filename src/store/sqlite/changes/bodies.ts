import type { Database } from 'better-sqlite3';
import type { BodyTail, NewDelivery } from '../../../model/event.ts';

/** Stores bodies, one for all deliveries of an event that send the same bytes, and takes them away. */
export function createBodies(db: Database) {
  const insertBody = db.prepare<[string, number | null]>(
    'INSERT INTO delivery_bodies (body, tail_id) VALUES (?, ?)',
  );
  const selectTail = db
    .prepare<[string, string], number>('SELECT id FROM body_tails WHERE tenant_id = ? AND hash = ?')
    .pluck();
  const insertTail = db.prepare<[string, string, string]>(
    'INSERT INTO body_tails (tenant_id, hash, text) VALUES (?, ?, ?)',
  );
  const selectPlace = db.prepare<[string], { event_id: string; body_id: number | null }>(
    'SELECT event_id, body_id FROM deliveries WHERE id = ?',
  );
  const letGo = db.prepare<[string]>('UPDATE deliveries SET body_id = NULL WHERE id = ?');
  const deleteUnused = db.prepare<[number, string, number]>(
    `DELETE FROM delivery_bodies WHERE id = ?
       AND NOT EXISTS (SELECT 1 FROM deliveries WHERE event_id = ? AND body_id = ?)`,
  );
  const deleteUnusedTails = db.prepare<[number]>(
    `DELETE FROM body_tails WHERE id IN (
       SELECT t.id FROM body_tails t
       WHERE NOT EXISTS (SELECT 1 FROM delivery_bodies b WHERE b.tail_id = t.id) LIMIT ?)`,
  );

  function tailId(tenantId: string, { hash, text }: BodyTail): number {
    const known = selectTail.get(tenantId, hash);
    return known ?? Number(insertTail.run(tenantId, hash, text).lastInsertRowid);
  }

  return {
    /** Stores the bodies of one event: the id of each delivery's. */
    createPlaces(tenantId: string): (delivery: NewDelivery) => number {
      const places = new Map<string, number>();
      return ({ body, tail }) => {
        const bytes = tail === undefined ? body : `${tail.hash} ${body}`;
        const known = places.get(bytes);
        if (known !== undefined) return known;
        const stored = insertBody.run(body, tail === undefined ? null : tailId(tenantId, tail));
        const place = Number(stored.lastInsertRowid);
        places.set(bytes, place);
        return place;
      };
    },
    /** Takes a delivery's body away, and deletes it where no other of the event sends it too. */
    remove(deliveryId: string): void {
      const place = selectPlace.get(deliveryId);
      if (place === undefined || place.body_id === null) return;
      letGo.run(deliveryId);
      deleteUnused.run(place.body_id, place.event_id, place.body_id);
    },
    removeUnusedTails: (limit: number): number => deleteUnusedTails.run(limit).changes,
  };
}
