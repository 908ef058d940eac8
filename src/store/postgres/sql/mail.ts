import type { MailStatements } from '../../changes/mail.ts';
import type { Connection } from '../connection.ts';
import { type Async, changed, count, run, value } from './prepared.ts';

export function mailSql(db: Connection): Async<MailStatements['mail']> {
  return {
    insertMail: run(
      db,
      `INSERT INTO mail_outbox (id, tenant_id, kind, facts, created_at, next_try_at) VALUES (?, ?, ?, ?, ?, ?)
       ON CONFLICT (id) DO NOTHING`,
    ),
    // Only while it is pending: a sent mail stays sent, even if a failure is reported later.
    markSent: changed(
      db,
      'UPDATE mail_outbox SET sent_at = ?, next_try_at = NULL, tries = tries + 1 WHERE id = ? AND sent_at IS NULL',
    ),
    markFailed: changed(
      db,
      'UPDATE mail_outbox SET next_try_at = ?, tries = tries + 1 WHERE id = ? AND sent_at IS NULL',
    ),
    resendMail: changed(
      db,
      `UPDATE mail_outbox SET next_try_at = ?, sent_at = NULL, tries = 0, announced = false
       WHERE id = ? AND tenant_id = ?`,
    ),
    markAnnounced: run(db, 'UPDATE mail_outbox SET announced = true WHERE id = ?'),
    pruneMail: count(
      db,
      'DELETE FROM mail_outbox WHERE id = ANY (ARRAY(SELECT id FROM mail_outbox WHERE created_at < ? LIMIT ?))',
    ),
    updateSettings: changed(
      db,
      `UPDATE tenant_settings
       SET timezone = :timezone, digest_enabled = :enabled, digest_hour = :hour, digest_frequency = :frequency,
           digest_profile_ids = :profileIds, digest_due_at = :digestDueAt, digest_since = :digestSince,
           digest_position = :digestPosition
       WHERE tenant_id = :tenantId`,
    ),
    setDigestMail: changed(
      db,
      'UPDATE owners SET digest_mail = :wanted WHERE id = :userId AND tenant_id = :tenantId AND digest_mail <> :wanted',
    ),
    advanceDigest: changed(
      db,
      `UPDATE tenant_settings
       SET digest_due_at = :nextDueAt, digest_since = :since, digest_position = :position,
           digest_made_at = coalesce(:madeAt, digest_made_at)
       WHERE tenant_id = :tenantId AND digest_due_at = :expectedDueAt AND digest_enabled`,
    ),
    selectInTheWay: value(
      db,
      'SELECT sent_at FROM mail_counts WHERE key = ? AND sent_at > ? ORDER BY sent_at DESC LIMIT 1 OFFSET ?',
    ),
    count: run(db, 'INSERT INTO mail_counts (key, sent_at) VALUES (?, ?)'),
    // Also removes counts from a clock that was set back, which would count for too long.
    pruneCounts: run(db, 'DELETE FROM mail_counts WHERE sent_at <= ? OR sent_at > ?'),
  };
}
