import type { Database } from 'better-sqlite3';
import type { FeedRow, FeedStore } from '../../feed-store.ts';
import type { Part } from '../../store.ts';
import { BODY_JOINS, WHOLE_BODY } from './bodies.ts';
import { positionOf } from './stored-order.ts';

/** Places of the order that one page looks at for deliveries to its endpoint, 4 us each. */
const MAX_LOOKED_AT = 2_000;
/** Bodies of one page, in bytes: a page of a hundred could be 25 MB. */
const MOST_BYTES = 1_048_576;
/** A place is no less than the time of its commit, shifted by so many bits (migration 032). */
const PLACES_A_MS = 1_024;

interface FoundRow extends Omit<FeedRow, 'body'> {
  position: number;
}

/** Feeds of endpoints: deliveries at the places of their events, and those at places of their own, in one order. */
export function feedReads(db: Database) {
  const selectUntil = db
    .prepare<Record<string, unknown>[], number | null>(
      `SELECT max(position) FROM (
         SELECT position FROM (
           SELECT * FROM (SELECT position FROM event_positions WHERE tenant_id = :tenantId AND position > :after
                          ORDER BY position LIMIT :scan)
           UNION ALL
           SELECT * FROM (SELECT position FROM late_deliveries WHERE tenant_id = :tenantId AND position > :after
                          ORDER BY position LIMIT :scan))
         ORDER BY position LIMIT :scan)`,
    )
    .pluck();
  const selectFound = db.prepare<Record<string, unknown>[], FoundRow>(FEED_SQL);
  const selectBody = db
    .prepare<[string], string | null>(`SELECT ${WHOLE_BODY} FROM deliveries d ${BODY_JOINS} WHERE d.id = ?`)
    .pluck();
  const selectAny = db
    .prepare<Record<string, unknown>[], number>(
      `SELECT 1 FROM event_positions WHERE tenant_id = :tenantId AND position > :after AND position <= :until
       UNION ALL
       SELECT 1 FROM late_deliveries WHERE tenant_id = :tenantId AND position > :after AND position <= :until LIMIT 1`,
    )
    .pluck();

  const isAny = (tenantId: string, after: number, until: number) =>
    selectAny.get({ tenantId, after, until }) !== undefined;

  return {
    readFeed(tenantId, { endpointId, limit, after: cursor, since }) {
      const floor = Math.max(0, since) * PLACES_A_MS - 1;
      const asked = positionOf({ after: cursor });
      const truncated = cursor !== null && asked < floor && isAny(tenantId, asked, floor);
      const after = Math.max(asked, floor);
      const until = selectUntil.get({ tenantId, after, scan: MAX_LOOKED_AT }) ?? null;
      if (until === null) return { rows: [], count: 0, next: [after], hasMore: false, truncated };

      const found = selectFound.all({ tenantId, endpointId, after, until, limit });
      const rows: FeedRow[] = [];
      let bytes = 0;
      // A full page ends at its last row, any other where the stretch does.
      let end = found.length === limit ? (found.at(-1)?.position ?? until) : until;
      let last = after;
      for (const { position, ...row } of found) {
        const body = selectBody.get(row.id) ?? null;
        if (body !== null) {
          bytes += body.length;
          if (bytes > MOST_BYTES && rows.length > 0) {
            end = last;
            break;
          }
          rows.push({ ...row, body });
        }
        last = position;
      }
      const hasMore = isAny(tenantId, end, Number.MAX_SAFE_INTEGER);
      return { rows, count: rows.length, next: [end], hasMore, truncated };
    },
  } satisfies Part<FeedStore>;
}

const SHOWN = 'd.id, d.event_type AS eventType, v.created_at AS happenedAt';
const FITS = "d.endpoint_id = +:endpointId AND d.status <> 'rejected' AND d.body_id IS NOT NULL";

/** The statement of a stretch of a feed. A late delivery is not there a second time, where its event stands. */
export const FEED_SQL = `SELECT p.position, ${SHOWN}
  FROM event_positions p CROSS JOIN events v ON v.id = p.event_id
    CROSS JOIN deliveries d INDEXED BY deliveries_by_event ON d.event_id = p.event_id
  WHERE p.tenant_id = :tenantId AND p.position > :after AND p.position <= :until AND ${FITS}
    AND NOT EXISTS (SELECT 1 FROM late_deliveries l WHERE l.delivery_id = d.id)
  UNION ALL
  SELECT l.position, ${SHOWN}
  FROM late_deliveries l CROSS JOIN deliveries d ON d.id = l.delivery_id CROSS JOIN events v ON v.id = d.event_id
  WHERE l.tenant_id = :tenantId AND l.position > :after AND l.position <= :until AND ${FITS}
  ORDER BY 1 LIMIT :limit`;
