import type { Database } from 'better-sqlite3';
import type { SignalFeedback, StoredPost } from '../../signal-store.ts';

interface FeedbackRow extends Omit<SignalFeedback, 'relevant'> {
  relevant: number;
}

interface PostRow extends Omit<StoredPost, 'relevant'> {
  relevant: number | null;
}

/** What was said of signals, and signals with it. */
export function createFeedbackSql(db: Database) {
  const save = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO signal_feedback (signal_id, relevant, reason, actor_id, created_at)
     SELECT id, :relevant, :reason, :actorId, :createdAt FROM signals WHERE id = :signalId AND tenant_id = :tenantId
     ON CONFLICT (signal_id) DO UPDATE SET
       relevant = excluded.relevant, reason = excluded.reason, actor_id = excluded.actor_id,
       created_at = excluded.created_at`,
  );
  const selectOne = db.prepare<[string, string], FeedbackRow>(
    `SELECT s.tenant_id AS tenantId, f.signal_id AS signalId, f.relevant, f.reason, f.actor_id AS actorId,
            f.created_at AS createdAt
     FROM signal_feedback f JOIN signals s ON s.id = f.signal_id WHERE f.signal_id = ? AND s.tenant_id = ?`,
  );
  const selectPosts = db.prepare<[string, number], PostRow>(
    `SELECT s.id, s.profile_id AS profileId, s.platform, s.external_id AS externalId, s.canonical_url AS canonicalUrl,
            s.score, s.classification, s.wire, s.text, f.relevant
     FROM signals s LEFT JOIN signal_feedback f ON f.signal_id = s.id
     WHERE s.tenant_id = ? ORDER BY s.seq DESC LIMIT ?`,
  );

  return {
    save: (feedback: SignalFeedback): boolean =>
      save.run({ ...feedback, relevant: feedback.relevant ? 1 : 0 }).changes === 1,
    get(tenantId: string, signalId: string): SignalFeedback | null {
      const row = selectOne.get(signalId, tenantId);
      return row === undefined ? null : { ...row, relevant: row.relevant === 1 };
    },
    posts: (tenantId: string, limit: number): StoredPost[] =>
      selectPosts
        .all(tenantId, limit)
        .map((row) => ({ ...row, relevant: row.relevant === null ? null : row.relevant === 1 })),
  };
}
