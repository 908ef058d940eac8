import type { Database } from 'better-sqlite3';
import type { EventRow, SkipReason } from '../../../model/event.ts';

export function createEventSql(db: Database) {
  const insert = db.prepare<[string, string, string, string, number, string]>(
    'INSERT INTO events (id, tenant_id, type, subject_id, created_at, data) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const insertSkip = db.prepare<[string, string, string]>(
    'INSERT INTO event_skips (event_id, endpoint_id, reason) VALUES (?, ?, ?)',
  );

  return {
    insert(event: EventRow): void {
      insert.run(event.id, event.tenantId, event.type, event.subjectId, event.createdAt, event.data);
    },
    insertSkip(eventId: string, endpointId: string, reason: SkipReason): void {
      insertSkip.run(eventId, endpointId, reason);
    },
  };
}
