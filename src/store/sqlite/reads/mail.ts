import type { Database } from 'better-sqlite3';
import type { Mail, MailFacts } from '../../../model/mail.ts';
import type { MailStore } from '../../mail-store.ts';
import type { Part } from '../../store.ts';
import { Table } from '../table.ts';

type KeptMail = Omit<Mail, 'facts'> & { kind: MailFacts['kind']; facts: object };

const OUTBOX = new Table<KeptMail>('mail_outbox', {
  id: 'plain',
  tenantId: 'plain',
  kind: 'plain',
  facts: 'json',
  createdAt: 'plain',
  tries: 'plain',
  nextTryAt: 'plain',
  sentAt: 'plain',
  announced: 'flag',
});

function toMail<K extends KeptMail>({ kind, facts, ...mail }: K) {
  return { ...mail, facts: { kind, ...facts } as MailFacts };
}

/** The mail that waits, and what became of it. */
export function mailReads(db: Database) {
  const selectDue = OUTBOX.rows<[number, number], { to: string | null }>(
    db,
    `SELECT ${OUTBOX.list}, CASE WHEN m.facts ->> 'userId' IS NULL
              THEN (SELECT o.email FROM owners o WHERE o.tenant_id = m.tenant_id AND o.role = 'owner'
                    ORDER BY o.created_at, o.id LIMIT 1)
              ELSE (SELECT o.email FROM owners o WHERE o.id = m.facts ->> 'userId') END AS "to"
     FROM mail_outbox m JOIN (
       SELECT id AS due_id, urgent, row_number() OVER (PARTITION BY urgent, tenant_id ORDER BY next_try_at, id) AS turn
       FROM (SELECT *, kind IN ('password_reset', 'credentials_changed') AS urgent FROM mail_outbox
             WHERE next_try_at IS NOT NULL AND next_try_at <= ?)
     ) ON due_id = m.id
     ORDER BY urgent DESC, turn, m.next_try_at, m.id LIMIT ?`,
  );
  const selectOfTenant = OUTBOX.select<[string, number]>(
    db,
    'WHERE tenant_id = ? ORDER BY created_at DESC, id DESC LIMIT ?',
  );
  const selectUnannounced = OUTBOX.select<[number]>(
    db,
    'WHERE next_try_at IS NOT NULL AND announced = 0 ORDER BY next_try_at LIMIT ?',
  );

  return {
    dueMail: (now, limit) => selectDue.all(now, limit).map(toMail),
    listMail: (tenantId, limit) => selectOfTenant.all(tenantId, limit).map(toMail),
    unannouncedMail: (limit) => selectUnannounced.all(limit).map(toMail),
  } satisfies Part<MailStore>;
}
