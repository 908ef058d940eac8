import type { ErasureStatements } from '../../changes/erasure.ts';
import type { AnswerRow, MentionStatements } from '../../changes/mentions.ts';
import type { Connection } from '../connection.ts';
import { WAITING, WHOLE_BODY } from './claims.ts';
import { type Async, row, rows, run, value, values } from './prepared.ts';

export function erasureSql(db: Connection): Async<ErasureStatements['erasure']> {
  const countAuthorships = value<[string, string[], number], number>(
    db,
    `SELECT count(*) FROM (
       SELECT 1 FROM signal_people WHERE tenant_id = ? AND key = ANY (?) LIMIT ?::bigint + 1) AS counted`,
  );
  const hasLater = value<[string, string[], string], number>(
    db,
    'SELECT 1 FROM signal_people WHERE tenant_id = ? AND key = ANY (?) AND signal_id > ? LIMIT 1',
  );
  return {
    countAuthorships: (tenantId, keys, most) => countAuthorships(tenantId, JSON.parse(keys), most),
    hasLater: (tenantId, keys, last) => hasLater(tenantId, JSON.parse(keys), last),
    forgetAuthor: values(
      db,
      `DELETE FROM signal_people WHERE (tenant_id, key, signal_id) IN (
         SELECT tenant_id, key, signal_id FROM signal_people WHERE tenant_id = ? AND key = ? AND signal_id <= ? LIMIT ?)
       RETURNING signal_id`,
    ),
    begin: run(db, 'INSERT INTO erasures (lead_id, tenant_id, texts, mentions) VALUES (?, ?, ?, ?)'),
    selectMentions: value(db, 'SELECT mentions FROM erasures WHERE lead_id = ? AND tenant_id = ?'),
    selectTexts: value(db, 'SELECT texts FROM erasures WHERE lead_id = ?'),
    selectAll: rows(db, 'SELECT tenant_id AS "tenantId", lead_id AS "leadId" FROM erasures LIMIT ?'),
    end: run(db, 'DELETE FROM erasures WHERE lead_id = ?'),
    addStep: run(db, 'INSERT INTO erasure_steps (lead_id, kind, subject) VALUES (?, ?, ?)'),
    selectSteps: rows(
      db,
      'SELECT position, kind, subject FROM erasure_steps WHERE lead_id = ? ORDER BY position LIMIT ?',
    ),
    removeStep: run(db, 'DELETE FROM erasure_steps WHERE position = ?'),
    selectSignal: row(db, 'SELECT wire, explanation, text FROM signals WHERE id = ? AND tenant_id = ?'),
    emptySignal: run(
      db,
      `UPDATE signals SET wire = ?, explanation = ?, text = '', external_id = NULL, canonical_url = NULL WHERE id = ?`,
    ),
    emptyFeedback: run(db, "UPDATE signal_feedback SET reason = '' WHERE signal_id = ?"),
    // Erased data stays in dead rows until the next vacuum, and in the server's log and replicas as long as these are
    // kept.
    overwriteErased() {},
  };
}

export function mentionsSql(db: Connection): Async<MentionStatements['mentions']> {
  // The response of a batch can have a megabyte: reading stops after enough of them.
  const selectAnswers = rows<[string, string, string, number, number], AnswerRow & { bytes: number }>(
    db,
    `SELECT route, key, coalesce(body, '') AS body, steps, bytes FROM (
       SELECT *, sum(own) OVER (ORDER BY route, key) AS bytes FROM (
         SELECT route, key, body, steps, octet_length(coalesce(body, '')) + octet_length(steps) AS own
         FROM idempotency_keys WHERE tenant_id = ? AND (route, key) > (?, ?) ORDER BY route, key LIMIT ?) stretch) counted
     WHERE bytes - own < ? ORDER BY route, key`,
  );
  const hasErased = value<[string[], string], number>(
    db,
    "SELECT 1 FROM signals WHERE id = ANY (?) AND tenant_id = ? AND text = '' LIMIT 1",
  );
  return {
    hasErased: (ids, tenantId) => hasErased(JSON.parse(ids), tenantId),
    selectAbout: values(db, 'SELECT id FROM events WHERE subject_id = ?'),
    selectSignal: row(
      db,
      `SELECT s.wire, s.explanation, s.text, s.canonical_url, f.reason
       FROM signals s LEFT JOIN signal_feedback f ON f.signal_id = s.id WHERE s.id = ? AND s.tenant_id = ?`,
    ),
    updateSignal: run(db, 'UPDATE signals SET wire = ?, explanation = ?, text = ? WHERE id = ?'),
    // Removed instead of redacted: two redacted URLs of the same length would identify the same post.
    forgetPlace: run(db, 'UPDATE signals SET external_id = NULL, canonical_url = NULL WHERE id = ?'),
    selectPlaces: rows(
      db,
      'SELECT position, external_id, canonical_url FROM signal_places WHERE signal_id = ?',
    ),
    forgetOtherPlace: run(
      db,
      'UPDATE signal_places SET external_id = NULL, canonical_url = NULL WHERE signal_id = ? AND position = ?',
    ),
    updateReason: run(db, 'UPDATE signal_feedback SET reason = ? WHERE signal_id = ?'),
    selectLead: value(db, 'SELECT wire FROM leads WHERE id = ? AND tenant_id = ?'),
    selectMoves: rows(
      db,
      'SELECT position, reason FROM stage_moves WHERE lead_id = ? AND position > ? ORDER BY position LIMIT ?',
    ),
    updateMove: run(db, 'UPDATE stage_moves SET reason = ? WHERE lead_id = ? AND position = ?'),
    selectEvent: value(db, 'SELECT data FROM events WHERE id = ?'),
    updateEvent: run(db, 'UPDATE events SET data = ? WHERE id = ?'),
    // Includes deliveries without a body: the responses of receivers are kept longer.
    selectDelivered: rows(
      db,
      `SELECT d.id, d.endpoint_id, (d.${WAITING})::int AS waits, d.body_id FROM deliveries d
       WHERE (d.event_id = ? OR d.id IN (SELECT delivery_id FROM batched_events WHERE event_id = ?)) AND d.id > ?
       ORDER BY d.id LIMIT ?`,
    ),
    selectBody: value(
      db,
      `SELECT ${WHOLE_BODY} FROM delivery_bodies b LEFT JOIN body_tails t ON t.id = b.tail_id WHERE b.id = ?`,
    ),
    // The whole body: the tail is shared with other events.
    updateBody: run(db, 'UPDATE delivery_bodies SET body = ?, tail_id = NULL WHERE id = ?'),
    async selectAnswers(tenantId, after, most) {
      const found = await selectAnswers(tenantId, ...after, most.rows, most.characters);
      const answers = found.map(({ bytes: _, ...answer }) => answer);
      return { answers, isLast: found.length < most.rows && (found.at(-1)?.bytes ?? 0) < most.characters };
    },
    forgetAnswer: run(db, 'DELETE FROM idempotency_keys WHERE tenant_id = ? AND route = ? AND key = ?'),
    updateAnswer: run(
      db,
      'UPDATE idempotency_keys SET body = ? WHERE tenant_id = ? AND route = ? AND key = ?',
    ),
  };
}
