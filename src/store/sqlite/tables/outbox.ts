import type { Database } from 'better-sqlite3';
import type { Mail, MailFacts, NewMail } from '../../../model/mail.ts';

interface MailRow {
  id: string;
  tenant_id: string;
  kind: string;
  facts: string;
  created_at: number;
  tries: number;
  next_try_at: number | null;
  sent_at: number | null;
  announced: number;
}

function toMail(row: MailRow): Mail {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    facts: { kind: row.kind, ...JSON.parse(row.facts) } as MailFacts,
    createdAt: row.created_at,
    tries: row.tries,
    nextTryAt: row.next_try_at,
    sentAt: row.sent_at,
    announced: row.announced === 1,
  };
}

/** Stores a mail as part of the change it tells of; the same id a second time changes nothing. */
export function enqueueMail(db: Database): (mail: NewMail) => void {
  const insert = db.prepare<[string, string, string, string, number, number]>(
    `INSERT INTO mail_outbox (id, tenant_id, kind, facts, created_at, next_try_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO NOTHING`,
  );
  return ({ id, tenantId, facts: { kind, ...rest }, createdAt }) => {
    insert.run(id, tenantId, kind, JSON.stringify(rest), createdAt, createdAt);
  };
}

/** The mail that waits, and what became of it. */
export function createOutboxSql(db: Database) {
  const selectDue = db.prepare<[number, number], MailRow & { owner_email: string | null }>(
    `SELECT m.*, (SELECT o.email FROM owners o WHERE o.tenant_id = m.tenant_id ORDER BY o.created_at, o.id LIMIT 1)
            AS owner_email
     FROM mail_outbox m WHERE m.next_try_at IS NOT NULL AND m.next_try_at <= ? ORDER BY m.next_try_at LIMIT ?`,
  );
  const selectOfTenant = db.prepare<[string, number], MailRow>(
    'SELECT * FROM mail_outbox WHERE tenant_id = ? ORDER BY created_at DESC, id DESC LIMIT ?',
  );
  // Only while it waits: a mail that was sent stays sent, whoever reports a failure late.
  const markSent = db.prepare<[number, string]>(
    'UPDATE mail_outbox SET sent_at = ?, next_try_at = NULL, tries = tries + 1 WHERE id = ? AND sent_at IS NULL',
  );
  const markFailed = db.prepare<[number | null, string]>(
    'UPDATE mail_outbox SET next_try_at = ?, tries = tries + 1 WHERE id = ? AND sent_at IS NULL',
  );
  const selectUnannounced = db.prepare<[number], MailRow>(
    'SELECT * FROM mail_outbox WHERE next_try_at IS NOT NULL AND announced = 0 ORDER BY next_try_at LIMIT ?',
  );
  const markAnnounced = db.prepare<[string]>('UPDATE mail_outbox SET announced = 1 WHERE id = ?');
  const prune = db.prepare<[number, number]>(
    'DELETE FROM mail_outbox WHERE id IN (SELECT id FROM mail_outbox WHERE created_at < ? LIMIT ?)',
  );

  return {
    /** What should be tried now, the longest due first, each with its owner's address (null: there is none). */
    due: (now: number, limit: number): (Mail & { to: string | null })[] =>
      selectDue.all(now, limit).map((row) => ({ ...toMail(row), to: row.owner_email })),
    list: (tenantId: string, limit: number): Mail[] => selectOfTenant.all(tenantId, limit).map(toMail),
    unannounced: (limit: number): Mail[] => selectUnannounced.all(limit).map(toMail),
    markSent: (id: string, now: number): boolean => markSent.run(now, id).changes === 1,
    /** `nextTryAt` null gives it up. */
    markFailed: (id: string, nextTryAt: number | null): boolean =>
      markFailed.run(nextTryAt, id).changes === 1,
    markAnnounced: (ids: readonly string[]): void => {
      for (const id of ids) markAnnounced.run(id);
    },
    prune: (before: number, limit: number): number => prune.run(before, limit).changes,
  };
}
