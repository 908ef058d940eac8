import type { Database } from 'better-sqlite3';
import type { Mail, MailFacts } from '../../../model/mail.ts';
import type { MailStore } from '../../mail-store.ts';
import type { Part } from '../../store.ts';

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

/** The mail that waits, and what became of it. */
export function mailReads(db: Database) {
  const selectDue = db.prepare<[number, number], MailRow & { to_email: string | null }>(
    `SELECT m.*, CASE WHEN m.facts ->> 'userId' IS NULL
              THEN (SELECT o.email FROM owners o WHERE o.tenant_id = m.tenant_id AND o.role = 'owner'
                    ORDER BY o.created_at, o.id LIMIT 1)
              ELSE (SELECT o.email FROM owners o WHERE o.id = m.facts ->> 'userId') END AS to_email
     FROM mail_outbox m WHERE m.next_try_at IS NOT NULL AND m.next_try_at <= ? ORDER BY m.next_try_at LIMIT ?`,
  );
  const selectOfTenant = db.prepare<[string, number], MailRow>(
    'SELECT * FROM mail_outbox WHERE tenant_id = ? ORDER BY created_at DESC, id DESC LIMIT ?',
  );
  const selectUnannounced = db.prepare<[number], MailRow>(
    'SELECT * FROM mail_outbox WHERE next_try_at IS NOT NULL AND announced = 0 ORDER BY next_try_at LIMIT ?',
  );

  return {
    dueMail: (now, limit) => selectDue.all(now, limit).map((row) => ({ ...toMail(row), to: row.to_email })),
    listMail: (tenantId, limit) => selectOfTenant.all(tenantId, limit).map(toMail),
    unannouncedMail: (limit) => selectUnannounced.all(limit).map(toMail),
  } satisfies Part<MailStore>;
}
