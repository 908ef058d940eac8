import type { Database } from 'better-sqlite3';
import { isOperational } from '../../../model/constants.ts';
import type { EndpointNotice } from '../../../model/endpoint-notice.ts';
import type { EventType } from '../../../model/event.ts';
import type { NoticeStore } from '../../notice-store.ts';
import type { Part } from '../../store.ts';
import { createEventWriter } from './events.ts';

/** Stores a notice: part of the change that it is of. Of subscriptions that a client of MCP made there is none. */
export function createNoticeWriter(db: Database): (notice: Omit<EndpointNotice, 'id'>) => void {
  const insert = db.prepare<[string, string, string, string]>(
    `INSERT INTO endpoint_notices (tenant_id, type, endpoint_id, facts)
     SELECT ?, ?, id, ? FROM webhook_endpoints WHERE id = ? AND mode <> 'mcp'`,
  );
  return ({ tenantId, type, endpointId, facts }) => {
    insert.run(tenantId, type, JSON.stringify(facts), endpointId);
  };
}

interface DeadRow {
  tenantId: string;
  endpointId: string;
  event: EventType;
  event_id: string;
  subject_id: string;
  attempt_count: number;
}

/**
 * Stores the notice that a delivery is dead: part of the change that it is of. A dead delivery of such an event makes none,
 * as two dead endpoints would go on telling of each other.
 */
export function createDeadNotices(db: Database): (deliveryId: string, expiresAt: number) => void {
  const select = db.prepare<[string], DeadRow>(
    `SELECT d.tenant_id AS tenantId, d.endpoint_id AS endpointId, d.event_type AS event, d.event_id,
            v.subject_id, d.attempt_count
     FROM deliveries d JOIN events v ON v.id = d.event_id WHERE d.id = ?`,
  );
  const add = createNoticeWriter(db);

  return (deliveryId, expiresAt) => {
    const row = select.get(deliveryId);
    if (row === undefined || isOperational(row.event)) return;
    const { tenantId, endpointId, ...told } = row;
    const facts = { delivery_id: deliveryId, ...told, expires_at: new Date(expiresAt).toISOString() };
    add({ tenantId, type: 'delivery.dead', endpointId, facts });
  };
}

export function noticeChanges(db: Database) {
  const count = db
    .prepare<[string, string], number>(
      'SELECT count(*) FROM endpoint_notices WHERE id IN (SELECT value FROM json_each(?)) AND tenant_id = ?',
    )
    .pluck();
  const remove = db.prepare<[string]>(
    'DELETE FROM endpoint_notices WHERE id IN (SELECT value FROM json_each(?))',
  );
  const insertRouted = createEventWriter(db);

  return {
    commitNotices({ tenantId, ids, events }) {
      const list = JSON.stringify(ids);
      if (count.get(list, tenantId) !== ids.length) return false;
      remove.run(list);
      events.forEach(insertRouted);
      return true;
    },
  } satisfies Part<NoticeStore>;
}
