import { smallestOf } from '../../../lib/lists.ts';
import { SAMPLE_PLATFORM } from '../../../model/constants.ts';
import type { MailFacts } from '../../../model/mail.ts';
import type { TenantSettings } from '../../../model/tenant.ts';
import type { DigestStore, MailRow, MailStore, SettingsRow } from '../../mail-store.ts';
import type { Connection } from '../connection.ts';
import { rows, values } from '../sql/prepared.ts';
import { Table } from '../tables.ts';

const OUTBOX = new Table<MailRow>('mail_outbox', {
  ...{ id: 'plain', tenantId: 'plain', kind: 'plain', facts: 'json', createdAt: 'plain' },
  ...{ tries: 'plain', nextTryAt: 'plain', sentAt: 'plain', announced: 'plain' },
});

function toMail<K extends MailRow>({ kind, facts, ...mail }: K) {
  return { ...mail, facts: { kind, ...facts } as MailFacts };
}

/** The outbox. */
export function mailReads(db: Connection) {
  // Urgent mail first; within each kind, tenants take turns.
  const selectDue = OUTBOX.rows<[number, number], { ownerEmail: string | null }>(
    db,
    `SELECT ${OUTBOX.list},
       (SELECT o.email FROM owners o WHERE o.tenant_id = m.tenant_id AND o.role = 'owner'
        ORDER BY o.created_at, o.id LIMIT 1) AS "ownerEmail"
     FROM (SELECT *, row_number() OVER (PARTITION BY urgent, tenant_id ORDER BY next_try_at, id) AS turn
           FROM (SELECT *, kind IN ('password_reset', 'credentials_changed') AS urgent FROM mail_outbox
                 WHERE next_try_at <= ?) due) m
     ORDER BY urgent DESC, turn, next_try_at, id LIMIT ?`,
  );
  const selectEmails = rows<[string[]], { id: string; email: string }>(
    db,
    'SELECT id, email FROM owners WHERE id = ANY (?)',
  );
  const selectOfTenant = OUTBOX.select<[string, number]>(
    db,
    'WHERE tenant_id = ? ORDER BY created_at DESC, id DESC LIMIT ?',
  );
  const selectUnannounced = OUTBOX.select<[number]>(
    db,
    'WHERE next_try_at IS NOT NULL AND NOT announced ORDER BY next_try_at LIMIT ?',
  );

  return {
    async dueMail(now, limit) {
      const due = (await selectDue.all(now, limit)).map(toMail);
      const readerOf = ({ facts }: { facts: MailFacts }) => ('userId' in facts ? facts.userId : undefined);
      const readers = due.flatMap((mail) => readerOf(mail) ?? []);
      const emails = new Map((await selectEmails(readers)).map(({ id, email }) => [id, email]));
      return due.map(({ ownerEmail, ...mail }) => {
        const reader = readerOf(mail);
        return { ...mail, to: reader === undefined ? ownerEmail : (emails.get(reader) ?? null) };
      });
    },
    listMail: async (tenantId, limit) => (await selectOfTenant.all(tenantId, limit)).map(toMail),
    unannouncedMail: async (limit) => (await selectUnannounced.all(limit)).map(toMail),
  } satisfies Partial<MailStore>;
}

const SETTINGS = new Table<SettingsRow>('tenant_settings', {
  ...{ tenantId: 'plain', timezone: 'plain', digestEnabled: 'plain', digestHour: 'plain' },
  ...{ digestFrequency: 'plain', digestProfileIds: 'json', digestDueAt: 'plain', digestSince: 'plain' },
  ...{ digestPosition: 'plain', digestMadeAt: 'plain' },
});

function toSettings({
  digestEnabled: enabled,
  digestHour: hour,
  digestFrequency: frequency,
  digestProfileIds: icp_profile_ids,
  ...rest
}: SettingsRow): TenantSettings {
  return { ...rest, digest: { enabled, hour, frequency, icp_profile_ids } };
}

/** Signals scanned per digest, whether they are in it or not. */
const MAX_LOOKED_AT = 20_000;

interface FoundClass {
  classification: string | null;
  n: number;
  oldest: number;
  wires: string[] | null;
  newest: number;
}

/** Settings of tenants, and the signals of their digests. */
export function digestReads(db: Connection) {
  const selectOne = SETTINGS.select<[string]>(db, 'WHERE tenant_id = ?');
  const selectDue = SETTINGS.select<[number, number]>(
    db,
    'WHERE digest_enabled AND digest_due_at <= ? ORDER BY digest_due_at LIMIT ?',
  );
  // One statement, for a consistent snapshot: a signal that is moved to the end between two reads would be in
  // neither. A signal that was moved counts at its first position: an earlier digest contained it.
  const selectFound = rows<[Record<string, unknown>], FoundClass>(
    db,
    `WITH found AS (
       SELECT s.seq, s.classification, s.score, s.timestamp
       FROM (SELECT seq, tenant_id, position, first_position FROM signal_positions
             WHERE tenant_id = :tenantId AND position > :after ORDER BY position DESC LIMIT ${MAX_LOOKED_AT}) p
         JOIN signals s ON s.seq = p.seq AND s.tenant_id = p.tenant_id
       WHERE coalesce(p.first_position, p.position) > :after AND s.timestamp >= :from AND s.platform <> '${SAMPLE_PLATFORM}'
         AND (:profileIds::text[] = '{}' OR s.profile_id = ANY (:profileIds))
         AND (NOT :isUntouched::boolean
              OR NOT EXISTS (SELECT 1 FROM signal_feedback f WHERE f.signal_id = s.id)
                 AND NOT EXISTS (SELECT 1 FROM lead_signals l WHERE l.signal_id = s.id))),
     best AS (
       SELECT seq, score FROM found WHERE classification IN ('hot', 'warm') ORDER BY score DESC, seq DESC LIMIT :limit)
     SELECT newest.position AS newest, c.classification, c.n, c.oldest,
       (SELECT array_agg(s.wire ORDER BY b.score DESC, b.seq DESC) FROM best b JOIN signals s ON s.seq = b.seq) AS wires
     FROM (SELECT coalesce(max(position), 0) AS position FROM signal_positions WHERE tenant_id = :tenantId) newest
       LEFT JOIN (SELECT classification, count(*) AS n, min(timestamp) AS oldest FROM found
                  WHERE classification IN ('hot', 'warm') GROUP BY classification) c ON true`,
  );

  return {
    async getSettings(tenantId) {
      const found = await selectOne.get(tenantId);
      return found === null ? null : toSettings(found);
    },
    dueDigests: async (now, limit) => (await selectDue.all(now, limit)).map(toSettings),
    async findBest(tenantId, { profileIds = [], isUntouched = false, ...range }) {
      const all = await selectFound({ tenantId, ...range, profileIds, isUntouched });
      const counts = all.filter(({ classification }) => classification !== null);
      const of = (name: string) => counts.find(({ classification }) => classification === name)?.n ?? 0;
      return {
        position: Math.max(range.after, all[0]?.newest ?? 0),
        oldest: counts.length === 0 ? null : smallestOf(counts.map(({ oldest }) => oldest)),
        hot: of('hot'),
        warm: of('warm'),
        wires: all[0]?.wires ?? [],
      };
    },
    // Invited users who have not joined get none; the first owner of an account may have no password.
    digestReaders: values(
      db,
      `SELECT id FROM owners WHERE tenant_id = ? AND digest_mail
         AND (password_hash IS NOT NULL OR role = 'owner') ORDER BY created_at, id`,
    ),
  } satisfies Partial<DigestStore>;
}
