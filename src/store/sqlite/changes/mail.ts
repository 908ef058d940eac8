import type { Database } from 'better-sqlite3';
import type { NewMail } from '../../../model/mail.ts';
import type { MailStore } from '../../mail-store.ts';
import type { Part } from '../../store.ts';

/** Stores a mail as part of the change it tells of; the same id a second time changes nothing. */
export function createMailWriter(db: Database): (mail: NewMail) => void {
  const insert = db.prepare<[string, string, string, string, number, number]>(
    `INSERT INTO mail_outbox (id, tenant_id, kind, facts, created_at, next_try_at) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO NOTHING`,
  );
  return ({ id, tenantId, facts: { kind, ...rest }, createdAt }) => {
    insert.run(id, tenantId, kind, JSON.stringify(rest), createdAt, createdAt);
  };
}

/** The longest that a limit looks back. */
const COUNTED_MS = 86_400_000;

/** What becomes of the mail that waits. */
export function mailChanges(db: Database) {
  // Only while it waits: a mail that was sent stays sent, whoever reports a failure late.
  const markSent = db.prepare<[number, string]>(
    'UPDATE mail_outbox SET sent_at = ?, next_try_at = NULL, tries = tries + 1 WHERE id = ? AND sent_at IS NULL',
  );
  const markFailed = db.prepare<[number | null, string]>(
    'UPDATE mail_outbox SET next_try_at = ?, tries = tries + 1 WHERE id = ? AND sent_at IS NULL',
  );
  const resend = db.prepare<[number, string, string]>(
    'UPDATE mail_outbox SET next_try_at = ?, sent_at = NULL, tries = 0, announced = 0 WHERE id = ? AND tenant_id = ?',
  );
  const markAnnounced = db.prepare<[string]>('UPDATE mail_outbox SET announced = 1 WHERE id = ?');
  const prune = db.prepare<[number, number]>(
    'DELETE FROM mail_outbox WHERE id IN (SELECT id FROM mail_outbox WHERE created_at < ? LIMIT ?)',
  );

  // The one that has to be too old before another may be sent.
  const selectInTheWay = db
    .prepare<[string, number, number], number>(
      'SELECT sent_at FROM mail_counts WHERE key = ? AND sent_at > ? ORDER BY sent_at DESC LIMIT 1 OFFSET ?',
    )
    .pluck();
  const count = db.prepare<[string, number]>('INSERT INTO mail_counts (key, sent_at) VALUES (?, ?)');
  // Of a clock that was set back, too: they would count for as long.
  const pruneCounts = db.prepare<[number, number]>(
    'DELETE FROM mail_counts WHERE sent_at <= ? OR sent_at > ?',
  );

  return {
    countMail(quotas, now) {
      pruneCounts.run(now - COUNTED_MS, now + COUNTED_MS);
      for (const { key, most, withinMs } of quotas) {
        const inTheWay = selectInTheWay.get(key, now - withinMs, most - 1);
        if (inTheWay !== undefined) return { key, waitMs: Math.min(withinMs, inTheWay + withinMs - now) };
      }
      for (const { key } of quotas) count.run(key, now);
      return null;
    },
    addMail: createMailWriter(db),
    markMailSent: (id, now) => markSent.run(now, id).changes === 1,
    markMailFailed: (id, nextTryAt) => markFailed.run(nextTryAt, id).changes === 1,
    resendMail: (tenantId, id, now) => resend.run(now, id, tenantId).changes === 1,
    markMailAnnounced(ids) {
      for (const id of ids) markAnnounced.run(id);
    },
    pruneMail: (before, limit) => prune.run(before, limit).changes,
  } satisfies Part<MailStore>;
}
