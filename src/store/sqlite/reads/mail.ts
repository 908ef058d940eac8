import type { Database } from 'better-sqlite3';
import { SAMPLE_PLATFORM } from '../../../model/constants.ts';
import type { MailFacts } from '../../../model/mail.ts';
import type { TenantSettings } from '../../../model/tenant.ts';
import type { DigestRange, DigestStore, MailRow, MailStore, SettingsRow } from '../../mail-store.ts';
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
  const selectOfTenant = OUTBOX.select<[string, number]>(
    db,
    'WHERE tenant_id = ? ORDER BY created_at DESC, id DESC LIMIT ?',
  );
  const selectUnannounced = OUTBOX.select<[number]>(
    db,
    'WHERE next_try_at IS NOT NULL AND announced = 0 ORDER BY next_try_at LIMIT ?',
  );

  return {
    listMail: (tenantId, limit) => selectOfTenant.all(tenantId, limit).map(toMail),
    unannouncedMail: (limit) => selectUnannounced.all(limit).map(toMail),
  } satisfies Part<MailStore>;
}

/** A due mail in its tenant's order. */
export interface DueMailKey {
  id: string;
  tenantId: string;
  nextTryAt: number;
}

/** As in the index `mail_outbox_turns`. */
const URGENT = "kind IN ('password_reset', 'credentials_changed')";
const IN_TURNS = `FROM mail_outbox INDEXED BY mail_outbox_turns
  WHERE (${URGENT}) = :urgent AND next_try_at IS NOT NULL`;
const FIRST_OF_TENANT = 'AND tenant_id = :tenantId AND next_try_at <= :now ORDER BY next_try_at, id LIMIT';

/** Due mail by tenant: seeks in an index, whose cost grows with the tenants that have mail, not with the mail. */
export function createDueMail(db: Database) {
  const selectTenants = db
    .prepare<Record<string, unknown>[], string>(
      `WITH RECURSIVE waiting (tenant, place) AS (
         SELECT (SELECT min(tenant_id) ${IN_TURNS} AND tenant_id > :after), 1
         UNION ALL
         SELECT (SELECT min(tenant_id) ${IN_TURNS} AND tenant_id > tenant), place + 1
         FROM waiting WHERE tenant IS NOT NULL AND place < :scan)
       SELECT tenant FROM waiting WHERE tenant IS NOT NULL`,
    )
    .pluck();
  const selectFirst = db.prepare<Record<string, unknown>[], DueMailKey>(
    `SELECT id, tenant_id AS tenantId, next_try_at AS nextTryAt ${IN_TURNS} ${FIRST_OF_TENANT} :limit`,
  );
  const selectOne = OUTBOX.rows<[string, number], { to: string | null }>(
    db,
    `SELECT ${OUTBOX.list}, CASE WHEN m.facts ->> 'userId' IS NULL
              THEN (SELECT o.email FROM owners o WHERE o.tenant_id = m.tenant_id AND o.role = 'owner'
                    ORDER BY o.created_at, o.id LIMIT 1)
              ELSE (SELECT o.email FROM owners o WHERE o.id = m.facts ->> 'userId') END AS "to"
     FROM mail_outbox m WHERE m.id = ? AND m.next_try_at <= ?`,
  );
  const firstOf = (tenantId: string, isUrgent: boolean, of: { now: number; limit: number }) =>
    selectFirst.all({ tenantId, urgent: Number(isUrgent), ...of });

  return {
    /** The first due mail of each of the next `scan` tenants, and the last of these; null: there are no more. */
    next(after: string, isUrgent: boolean, { now, scan }: { now: number; scan: number }) {
      const tenants = selectTenants.all({ after, urgent: Number(isUrgent), scan });
      const heads = tenants.flatMap((tenantId) => firstOf(tenantId, isUrgent, { now, limit: 1 }));
      return { heads, next: tenants.length < scan ? null : (tenants.at(-1) ?? null) };
    },
    /** The first due mails of a tenant. */
    firstOf,
    /** Null if it is no longer due. */
    get(id: string, now: number) {
      const [row] = selectOne.all(id, now);
      return row === undefined ? null : toMail(row);
    },
  };
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

/** Settings of tenants. */
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

  return {
    getSettings(tenantId) {
      const row = selectOne.get(tenantId);
      return row === null ? null : toSettings(row);
    },
    dueDigests: (now, limit) => selectDue.all(now, limit).map(toSettings),
    digestReaders: (tenantId) => selectReaders.all(tenantId),
  } satisfies Part<DigestStore>;
}

/** A hot or warm signal; `place` orders those of the same time. */
export interface DigestSignal {
  id: string;
  classification: 'hot' | 'warm';
  score: number;
  timestamp: number;
  place: number;
}

/** A part of the commit order: of the positions > `above` and < `below`, the newest `scan`. */
interface DigestPart {
  above: number;
  below: number;
  scan: number;
  /** Signals first stored after this position are not in it. */
  until: number;
}

/** Of a `seq`, what tells signals of the same millisecond apart (migration 006). */
const PLACE_MASK = 2 ** 21 - 1;

/** The signals of digests. */
export function createDigestScans(db: Database) {
  const order = createStoredOrder(db, 'signals');
  const positions = `FROM signal_positions
    WHERE tenant_id = :tenantId AND position > :above AND position < :below ORDER BY position DESC`;
  // A signal that was moved in the order counts at its first position: an earlier digest contained it.
  const selectPart = db.prepare<Record<string, unknown>[], DigestSignal>(
    `SELECT s.id, s.classification, s.score, s.timestamp, s.seq & ${PLACE_MASK} AS place
     FROM (SELECT seq, ifnull(first_position, position) AS first ${positions} LIMIT :scan) p
       CROSS JOIN signals s ON s.seq = p.seq AND s.tenant_id = :tenantId
     WHERE p.first > :after AND p.first <= :until AND s.classification IN ('hot', 'warm')
       AND s.timestamp >= :from AND s.platform <> '${SAMPLE_PLATFORM}'
       AND (:profiles = '[]' OR s.profile_id IN (SELECT value FROM json_each(:profiles)))
       AND (:untouched = 0 OR NOT EXISTS (SELECT 1 FROM signal_feedback f WHERE f.signal_id = s.id)
                              AND NOT EXISTS (SELECT 1 FROM lead_signals l WHERE l.signal_id = s.id))`,
  );
  const selectEnd = db
    .prepare<Record<string, unknown>[], number>(`SELECT position ${positions} LIMIT 1 OFFSET :scan - 1`)
    .pluck();
  const selectWire = db
    .prepare<[string, string], string>('SELECT wire FROM signals WHERE id = ? AND tenant_id = ?')
    .pluck();

  // One transaction, so that both statements see the same order.
  const readPart = db.transaction((tenantId: string, range: DigestRange, part: DigestPart) => {
    const { after, from, profileIds = [], isUntouched = false } = range;
    const more = { profiles: JSON.stringify(profileIds), untouched: Number(isUntouched) };
    const found = selectPart.all({ tenantId, after, from, ...part, ...more });
    return { found, next: selectEnd.get({ tenantId, ...part }) ?? null };
  });

  return {
    /** The end of the commit order. */
    newest: order.newest,
    /** The signals of a part that are in the range, and its last position; null: there are no more. */
    part: (
      tenantId: string,
      range: DigestRange,
      part: DigestPart,
    ): { found: DigestSignal[]; next: number | null } => readPart(tenantId, range, part),
    wireOf: (tenantId: string, id: string): string | null => selectWire.get(id, tenantId) ?? null,
  };
}
