import type { Database } from 'better-sqlite3';
import { mentionPattern, mentionsInJson } from '../../../model/mentions.ts';
import type { ErasedSignal, EventScan, ScannedEvents } from '../../erasure-store.ts';
import { WAITING } from './shown-state.ts';
import { createSignalSearchSql } from './signal-search.ts';

/** What an event's data is when the person it told of is erased. */
const ERASED_DATA = '{"erased":true}';

/** Taking a person out of signals, events and deliveries, which stay as what was counted. */
export function createErasureSql(db: Database) {
  const search = createSignalSearchSql(db);
  const emptySignal = db.prepare<[string, string, string]>(
    `UPDATE signals SET wire = ?, explanation = ?, text = '', external_id = NULL, canonical_url = NULL WHERE id = ?`,
  );
  const emptyFeedback = db.prepare<[string]>("UPDATE signal_feedback SET reason = '' WHERE signal_id = ?");
  const selectAbout = db
    .prepare<[string], string>('SELECT id FROM events WHERE subject_id IN (SELECT value FROM json_each(?))')
    .pluck();
  const emptyEvent = db.prepare<[string, string, string]>(
    'UPDATE events SET data = ? WHERE id = ? AND tenant_id = ?',
  );
  const selectDeliveries = db.prepare<[string], { id: string; endpoint_id: string; waits: number }>(
    `SELECT id, endpoint_id, ${WAITING} AS waits FROM deliveries d WHERE event_id = ?`,
  );
  // Dead letters too: without a body there is nothing to replay.
  const discard = db.prepare<[string]>(
    `UPDATE deliveries SET status = 'discarded', next_attempt_at = NULL, expires_at = NULL
     WHERE id = ? AND status IN ('pending', 'retrying', 'dead')`,
  );
  const selectBody = db
    .prepare<[string], number>('SELECT 1 FROM delivery_bodies WHERE delivery_id = ?')
    .pluck();
  const deleteBody = db.prepare<[string]>('DELETE FROM delivery_bodies WHERE delivery_id = ?');
  // Receivers may send back what they were sent.
  const emptyReplies = db.prepare<[string]>(
    `UPDATE attempts SET detail = json_set(detail, '$.response.headers', json('{}'), '$.response.body', '')
     WHERE delivery_id = ? AND json_type(detail, '$.response') = 'object'`,
  );
  // A new version tells the dispatcher that what it has claimed ahead is old.
  const renew = db.prepare<[string]>('UPDATE webhook_endpoints SET version = version + 1 WHERE id = ?');
  // lower() knows ASCII alone: addresses and ids are nothing else.
  const scan = db.prepare<Record<string, unknown>[], { id: string; created_at: number; data: string | null }>(
    `SELECT id, created_at,
            CASE WHEN type NOT LIKE 'signal.%'
                   AND (instr(data, 'sig_') > 0
                     OR EXISTS (SELECT 1 FROM json_each(:texts) t WHERE instr(lower(data), t.value) > 0))
                 THEN data END AS data
     FROM events
     WHERE tenant_id = :tenantId AND (created_at, id) > (:createdAt, :id) ORDER BY created_at, id LIMIT :limit`,
  );

  function eraseDeliveries(eventId: string): string[] {
    return selectDeliveries.all(eventId).flatMap(({ id, endpoint_id, waits }) => {
      discard.run(id);
      deleteBody.run(id);
      emptyReplies.run(id);
      return waits === 1 ? [endpoint_id] : [];
    });
  }

  return {
    eraseSignal({ id, wire, explanation }: ErasedSignal): void {
      search.reindex(id, () => emptySignal.run(wire, explanation, id));
      emptyFeedback.run(id);
    },
    eventsAbout: (subjectIds: readonly string[]): string[] => selectAbout.all(JSON.stringify(subjectIds)),
    /** Empties events with their deliveries; the endpoints that lost waiting ones, each once. */
    eraseEvents(tenantId: string, eventIds: readonly string[]): string[] {
      const endpointIds = new Set<string>();
      for (const id of new Set(eventIds)) {
        if (emptyEvent.run(ERASED_DATA, id, tenantId).changes === 0) continue;
        for (const endpointId of eraseDeliveries(id)) endpointIds.add(endpointId);
      }
      return [...endpointIds];
    },
    /** Says that what was claimed ahead of these endpoints is old. */
    renewEndpoints(ids: Iterable<string>): void {
      for (const id of ids) renew.run(id);
    },
    emptyReplies(deliveryId: string): void {
      emptyReplies.run(deliveryId);
    },
    /** What attempts brought back where the delivery was erased while they were under way: its body is gone then. */
    emptyRepliesOfErased(deliveryId: string): void {
      if (selectBody.get(deliveryId) === undefined) emptyReplies.run(deliveryId);
    },
    scan({ tenantId, texts, signalIds, after, limit }: EventScan): ScannedEvents {
      const [createdAt, id] = after ?? [-1, ''];
      const rows = scan.all({ tenantId, texts: JSON.stringify(texts), createdAt, id, limit });
      const last = rows.at(-1);
      const names = createNameTest(texts, signalIds);
      return {
        ids: rows.flatMap((row) => (row.data !== null && names(row.data) ? [row.id] : [])),
        last: last === undefined || rows.length < limit ? null : [last.created_at, last.id],
      };
    },
  };
}

/** Whether a JSON text names any of them; a person may have thousands of signals, so that their ids are looked up. */
function createNameTest(texts: readonly string[], signalIds: readonly string[]): (json: string) => boolean {
  const pattern = mentionPattern(texts);
  const ids = new Set(signalIds);
  return (json) =>
    Array.from(json.matchAll(/sig_[0-9a-z]+/g)).some(([id]) => ids.has(id)) ||
    (pattern !== null && mentionsInJson(json, pattern));
}
