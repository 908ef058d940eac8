import type { Database } from 'better-sqlite3';
import { smallestOf } from '../../../lib/lists.ts';
import { SAMPLE_PLATFORM } from '../../../model/constants.ts';
import type { MailFacts } from '../../../model/mail.ts';
import type { TenantSettings } from '../../../model/tenant.ts';
import type {
  DigestRange,
  DigestStore,
  FoundSignals,
  MailRow,
  MailStore,
  SettingsRow,
} from '../../mail-store.ts';
import { type Part, Table } from '../table.ts';
import { createStoredOrder } from './events.ts';

const OUTBOX = new Table<MailRow>('mail_outbox', {
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

function toMail<K extends MailRow>({ kind, facts, ...mail }: K) {
  return { ...mail, facts: { kind, ...facts } as MailFacts };
}

/** The outbox. */
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

interface ClassCount {
  classification: string;
  n: number;
  oldest: number;
}

const SETTINGS = new Table<SettingsRow>('tenant_settings', {
  tenantId: 'plain',
  timezone: 'plain',
  digestEnabled: 'flag',
  digestHour: 'plain',
  digestFrequency: 'plain',
  digestProfileIds: 'json',
  digestDueAt: 'plain',
  digestSince: 'plain',
  digestPosition: 'plain',
  digestMadeAt: 'plain',
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

/** The newest signals, which are scanned per digest, whether they match or not: about 50 ms of a reader. */
const MAX_LOOKED_AT = 20_000;

/** Settings of tenants, and the signals of their digests. */
export function digestReads(db: Database) {
  const selectOne = SETTINGS.select<[string]>(db, 'WHERE tenant_id = ?');
  const selectDue = SETTINGS.select<[number, number]>(
    db,
    `INDEXED BY tenant_settings_due
     WHERE digest_enabled = 1 AND digest_due_at <= ? ORDER BY digest_due_at LIMIT ?`,
  );
  // Invited users who have not joined get none; the first owner of an account may have no password.
  const selectReaders = db
    .prepare<[string], string>(
      `SELECT id FROM owners WHERE tenant_id = ? AND digest_mail = 1
         AND (password_hash IS NOT NULL OR role = 'owner') ORDER BY created_at, id`,
    )
    .pluck();
  const order = createStoredOrder(db, 'signals');
  // A signal that was moved in the order counts at its first position: an earlier digest contained it.
  const inRange = `SELECT s.seq, s.classification, s.score, s.timestamp
    FROM (SELECT seq, position, first_position FROM signal_positions
          WHERE tenant_id = :tenantId AND position > :after ORDER BY position DESC LIMIT ${MAX_LOOKED_AT}) p
      CROSS JOIN signals s ON s.seq = p.seq AND s.tenant_id = :tenantId
    WHERE ifnull(p.first_position, p.position) > :after
      AND s.timestamp >= :from AND s.platform <> '${SAMPLE_PLATFORM}'
      AND (:profiles = '[]' OR s.profile_id IN (SELECT value FROM json_each(:profiles)))
      AND (:untouched = 0 OR NOT EXISTS (SELECT 1 FROM signal_feedback f WHERE f.signal_id = s.id)
                             AND NOT EXISTS (SELECT 1 FROM lead_signals l WHERE l.signal_id = s.id))`;
  const countClasses = db.prepare<Record<string, unknown>[], ClassCount>(
    `SELECT classification, count(*) AS n, min(timestamp) AS oldest FROM (${inRange})
     WHERE classification IN ('hot', 'warm') GROUP BY classification`,
  );
  const selectBest = db
    .prepare<Record<string, unknown>[], string>(
      `SELECT s.wire FROM (SELECT seq FROM (${inRange}) WHERE classification IN ('hot', 'warm')
                           ORDER BY score DESC, seq DESC LIMIT :limit) b
       JOIN signals s ON s.seq = b.seq ORDER BY s.score DESC, s.seq DESC`,
    )
    .pluck();

  // In one transaction: a signal that is moved to the end between two reads would be in neither.
  const findBest: (tenantId: string, range: DigestRange) => FoundSignals = db.transaction(
    (tenantId, { after, from, limit, profileIds = [], isUntouched = false }) => {
      const range = {
        tenantId,
        after,
        from,
        profiles: JSON.stringify(profileIds),
        untouched: Number(isUntouched),
      };
      const counts = countClasses.all(range);
      const of = (name: string) => counts.find(({ classification }) => classification === name)?.n ?? 0;
      return {
        position: Math.max(after, order.newest(tenantId)),
        oldest: counts.length === 0 ? null : smallestOf(counts.map(({ oldest }) => oldest)),
        hot: of('hot'),
        warm: of('warm'),
        wires: selectBest.all({ ...range, limit }),
      };
    },
  );

  return {
    getSettings(tenantId) {
      const row = selectOne.get(tenantId);
      return row === null ? null : toSettings(row);
    },
    dueDigests: (now, limit) => selectDue.all(now, limit).map(toSettings),
    findBest,
    digestReaders: (tenantId) => selectReaders.all(tenantId),
  } satisfies Part<DigestStore>;
}
