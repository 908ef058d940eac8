import type { AuditEntry } from '../../../model/audit.ts';
import { DomainError } from '../../../model/errors.ts';
import type { Position } from '../../../model/filters.ts';
import type {
  AccountStore,
  AuditStore,
  FactorStore,
  KeyStore,
  PlanStore,
  SecondFactor,
  SessionStore,
  StoredRows,
  TeamStore,
} from '../../account-store.ts';
import { type CreationPage, creationPage, pageByCreation, pageOf } from '../../pages.ts';
import type { Connection } from '../connection.ts';
import { row, rows, value, values } from '../sql/prepared.ts';
import { KEYS, SESSIONS, TENANTS, USERS } from '../tables.ts';

export function tenantReads(db: Connection) {
  const selectAll = TENANTS.rows<[], { ownerEmail: string }>(
    db,
    `SELECT ${TENANTS.list},
       coalesce((SELECT o.email FROM owners o WHERE o.tenant_id = t.id AND o.role = 'owner'
                 ORDER BY o.created_at, o.id LIMIT 1), '') AS "ownerEmail"
     FROM tenants t ORDER BY t.created_at, t.id`,
  );
  const selectOne = TENANTS.select<[string]>(db, 'WHERE id = ?');
  const selectStored = row<[string], StoredRows>(
    db,
    'SELECT signals, leads, campaign_events AS "campaignEvents" FROM stored_rows WHERE tenant_id = ?',
  );

  return {
    listTenants: selectAll.all,
    tenantIdsAfter: values(db, 'SELECT id FROM tenants WHERE id > ? ORDER BY id LIMIT ?'),
    getTenant: selectOne.get,
    countStored: async (tenantId) =>
      (await selectStored(tenantId)) ?? { signals: 0, leads: 0, campaignEvents: 0 },
    listEndedTrials: values(
      db,
      "SELECT id FROM tenants WHERE plan = 'trial' AND trial_ends_at <= ? ORDER BY trial_ends_at LIMIT ?",
    ),
  } satisfies Partial<AccountStore & PlanStore>;
}

/** Users and their sessions. */
export function sessionReads(db: Connection) {
  const selectByEmail = USERS.select<[string, number]>(
    db,
    'WHERE lower(email) = lower(?) ORDER BY created_at, id LIMIT ?',
  );
  const selectOwner = USERS.select<[string]>(
    db,
    "WHERE tenant_id = ? AND role = 'owner' ORDER BY created_at, id LIMIT 1",
  );
  const selectByLink = USERS.select<[string, number]>(
    db,
    "WHERE setup_token_hash = ? AND setup_token_hash <> '' AND setup_expires_at > ?",
  );
  const selectAnyPassword = value<[], number>(
    db,
    'SELECT 1 FROM owners WHERE password_hash IS NOT NULL LIMIT 1',
  );
  const selectSession = SESSIONS.select<[string, number]>(db, 'WHERE token_hash = ? AND expires_at > ?');
  const selectOfUser = SESSIONS.select<[string, number]>(
    db,
    'WHERE user_id = ? AND expires_at > ? ORDER BY seen_at DESC, token_hash',
  );
  // Sent along with the look-up of the session: all three take one round trip.
  const selectUser = USERS.select<[string]>(
    db,
    'WHERE id = (SELECT user_id FROM sessions WHERE token_hash = ?)',
  );
  const selectTenant = TENANTS.select<[string]>(
    db,
    `WHERE id = (SELECT o.tenant_id FROM sessions s JOIN owners o ON o.id = s.user_id WHERE s.token_hash = ?)`,
  );

  return {
    usersByEmail: selectByEmail.all,
    firstOwner: selectOwner.get,
    userOfLink: selectByLink.get,
    anyPassword: async () => (await selectAnyPassword()) !== undefined,
    listSessions: selectOfUser.all,
    async findSession(tokenHash, now) {
      const [session, user, tenant] = await Promise.all([
        selectSession.get(tokenHash, now),
        selectUser.get(tokenHash),
        selectTenant.get(tokenHash),
      ]);
      return session === null || user === null || tenant === null ? null : { session, user, tenant };
    },
  } satisfies Partial<SessionStore>;
}

/** The members of a tenant, and their second factors. */
export function teamReads(db: Connection) {
  const selectAll = USERS.select<[string]>(db, 'WHERE tenant_id = ? ORDER BY created_at, id');
  const selectOne = USERS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  const selectFactor = row<[string], SecondFactor>(
    db,
    `SELECT totp_box AS box, totp_since AS since, totp_step AS step,
            (SELECT count(*) FROM recovery_codes c WHERE c.user_id = o.id) AS "codesLeft"
     FROM owners o WHERE id = ? AND totp_box IS NOT NULL`,
  );

  return {
    listMembers: selectAll.all,
    getMember: (tenantId, id) => selectOne.get(id, tenantId),
    getFactor: async (userId) => (await selectFactor(userId)) ?? null,
  } satisfies Partial<TeamStore & FactorStore>;
}

export function keyReads(db: Connection) {
  const selectAll = KEYS.select<[]>(db, 'ORDER BY created_at, id');
  const selectOfTenant = KEYS.select<[string]>(db, 'WHERE tenant_id = ? ORDER BY created_at, id');
  const selectPage = KEYS.select<[{ tenantId: string } & CreationPage]>(
    db,
    'WHERE tenant_id = :tenantId AND (created_at, id) > (:createdAt, :id) ORDER BY created_at, id LIMIT :limit',
  );
  const selectOne = KEYS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  const selectByHash = KEYS.select<[string]>(db, 'WHERE hash = ?');
  const selectTenant = TENANTS.select<[string]>(
    db,
    'WHERE id = (SELECT tenant_id FROM api_keys WHERE hash = ?)',
  );

  return {
    listKeys: (tenantId) => (tenantId === null ? selectAll.all() : selectOfTenant.all(tenantId)),
    async findKey(hash) {
      const [key, tenant] = await Promise.all([selectByHash.get(hash), selectTenant.get(hash)]);
      return key === null || tenant === null ? null : { key, tenant };
    },
    pageKeys: async (tenantId, page) =>
      pageByCreation(page, await selectPage.all({ tenantId, ...creationPage(page) })),
    getKey: (tenantId, id) => selectOne.get(id, tenantId),
  } satisfies Partial<AccountStore & KeyStore>;
}

const FAR_FUTURE = Number.MAX_SAFE_INTEGER;

/** The audit log. */
export function auditReads(db: Connection) {
  return {
    async pageAudit(tenantId, { actor, action, from, to, limit, after }) {
      const [beforeAt, beforePosition] = placeOf(after);
      const found = await rows<[Record<string, unknown>], AuditEntry & { position: number }>(
        db,
        `SELECT position, at, actor, action, subject, count, client FROM audit
         WHERE tenant_id = :tenantId ${actor === null ? '' : 'AND actor = :actor'}
           ${action === null ? '' : 'AND action = :action'}
           AND at >= :from AND at < :to AND (at, position) < (:beforeAt, :beforePosition)
         ORDER BY at DESC, position DESC LIMIT :limit`,
      )({
        ...{ tenantId, actor, action, beforeAt, beforePosition, limit: limit + 1 },
        ...{ from: from ?? 0, to: to ?? FAR_FUTURE },
      });
      return pageOf(found, limit, {
        toRow: ({ position: _, ...entry }): AuditEntry => entry,
        position: ({ at, position }) => [at, position],
      });
    },
  } satisfies Partial<AuditStore>;
}

function placeOf(after: Position | null): [number, number] {
  if (after === null) return [FAR_FUTURE, FAR_FUTURE];
  const [at, position] = after;
  if (typeof at === 'number' && typeof position === 'number') return [at, position];
  throw new DomainError('INVALID_CURSOR', 'The cursor belongs to another list.');
}
