import type { Database } from 'better-sqlite3';
import type { ErasureStatements } from '../../changes/erasure.ts';
import type { WriteAheadLog } from '../transaction.ts';
import { row, rows, run, values } from './prepared.ts';

export function erasureSql(db: Database, log: WriteAheadLog): ErasureStatements['erasure'] {
  return {
    selectSignalIds: values(
      db,
      `SELECT DISTINCT signal_id FROM signal_people
       WHERE tenant_id = ? AND key IN (SELECT value FROM json_each(?))`,
    ),
    forgetAuthor: run(db, 'DELETE FROM signal_people WHERE tenant_id = ? AND key = ?'),
    begin: run(db, 'INSERT INTO erasures (lead_id, tenant_id, texts, mentions) VALUES (?, ?, ?, ?)'),
    selectErasure: row(db, 'SELECT texts, mentions FROM erasures WHERE lead_id = ? AND tenant_id = ?'),
    selectAll: rows(db, 'SELECT tenant_id AS tenantId, lead_id AS leadId FROM erasures LIMIT ?'),
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
    overwriteErased: log.emptyAfterCommit,
  };
}
