import type { Database, Statement } from 'better-sqlite3';
import type { AuditEntry } from '../../../model/audit.ts';
import { DomainError } from '../../../model/errors.ts';
import type { Position } from '../../../model/filters.ts';
import type { ApiKey } from '../../../model/key.ts';
import type { Session, Tenant, User } from '../../../model/tenant.ts';
import type {
  AccountStore,
  AuditStore,
  FactorStore,
  KeyStore,
  PlanStore,
  SessionStore,
  StoredRows,
  TeamStore,
} from '../../account-store.ts';
import { type CreationPage, creationPage, pageByCreation, pageOf } from '../../pages.ts';
import { type Part, Table } from '../table.ts';

export const TENANTS = new Table<Tenant>('tenants', {
  id: 'plain',
  name: 'plain',
  plan: 'plain',
  trialEndsAt: 'plain',
  createdAt: 'plain',
});

export function tenantReads(db: Database) {
  const selectAll = TENANTS.rows<[], { ownerEmail: string }>(
    db,
    `SELECT ${TENANTS.list},
       ifnull((SELECT o.email FROM owners o WHERE o.tenant_id = t.id AND o.role = 'owner'
               ORDER BY o.created_at, o.id LIMIT 1), '') AS ownerEmail
     FROM tenants t ORDER BY t.created_at, t.id`,
  );
  const selectOne = TENANTS.select<[string]>(db, 'WHERE id = ?');
  const selectIds = db
    .prepare<[string, number], string>('SELECT id FROM tenants WHERE id > ? ORDER BY id LIMIT ?')
    .pluck();
  const selectStored = db.prepare<[string], StoredRows>(
    'SELECT signals, leads, campaign_events AS campaignEvents FROM stored_rows WHERE tenant_id = ?',
  );
  const selectEndedTrials = db
    .prepare<[number, number], string>(
      "SELECT id FROM tenants WHERE plan = 'trial' AND trial_ends_at <= ? ORDER BY trial_ends_at LIMIT ?",
    )
    .pluck();

  return {
    listTenants: () => selectAll.all(),
    tenantIdsAfter: (after, limit) => selectIds.all(after, limit),
    getTenant: (id) => selectOne.get(id),
    countStored: (tenantId) => selectStored.get(tenantId) ?? { signals: 0, leads: 0, campaignEvents: 0 },
    listEndedTrials: (now, limit) => selectEndedTrials.all(now, limit),
  } satisfies Part<AccountStore & PlanStore>;
}

/** Users, with computed members. */
const USERS = new Table<User>(
  'owners',
  {
    id: 'plain',
    tenantId: 'plain',
    email: 'plain',
    role: 'plain',
    passwordHash: 'plain',
    hasSecondFactor: 'flag',
    createdAt: 'plain',
  },
  { hasSecondFactor: 'totp_since IS NOT NULL' },
);

export const SESSIONS = new Table<Session>('sessions', {
  tokenHash: 'plain',
  id: 'plain',
  client: 'plain',
  userId: 'plain',
  createdAt: 'plain',
  seenAt: 'plain',
  expiresAt: 'plain',
});

/** Finds the user of a valid one-time link; also part of using it. */
export function createLinkRead(db: Database): (tokenHash: string, now: number) => User | null {
  const select = USERS.select<[string, number]>(
    db,
    "WHERE setup_token_hash = ? AND setup_token_hash <> '' AND setup_expires_at > ?",
  );
  return (tokenHash, now) => select.get(tokenHash, now);
}

/** Users and their sessions. */
export function sessionReads(db: Database) {
  const selectByEmail = USERS.select<[string, number]>(
    db,
    'WHERE lower(email) = lower(?) ORDER BY created_at, id LIMIT ?',
  );
  const selectOwner = USERS.select<[string]>(
    db,
    "WHERE tenant_id = ? AND role = 'owner' ORDER BY created_at, id LIMIT 1",
  );
  const selectAnyPassword = db
    .prepare<[], number>('SELECT 1 FROM owners WHERE password_hash IS NOT NULL LIMIT 1')
    .pluck();
  // Three look-ups by primary key, once per page view.
  const selectSession = SESSIONS.select<[string, number]>(db, 'WHERE token_hash = ? AND expires_at > ?');
  const selectOfUser = SESSIONS.select<[string, number]>(
    db,
    'WHERE user_id = ? AND expires_at > ? ORDER BY seen_at DESC, token_hash',
  );
  const selectUser = USERS.select<[string]>(db, 'WHERE id = ?');
  const selectTenant = TENANTS.select<[string]>(db, 'WHERE id = ?');

  return {
    usersByEmail: (email, limit) => selectByEmail.all(email, limit),
    firstOwner: (tenantId) => selectOwner.get(tenantId),
    userOfLink: createLinkRead(db),
    anyPassword: () => selectAnyPassword.get() !== undefined,
    listSessions: (userId, now) => selectOfUser.all(userId, now),
    findSession(tokenHash, now) {
      const session = selectSession.get(tokenHash, now);
      const user = session === null ? null : selectUser.get(session.userId);
      const tenant = user === null ? null : selectTenant.get(user.tenantId);
      return session === null || user === null || tenant === null ? null : { session, user, tenant };
    },
  } satisfies Part<SessionStore>;
}

interface FactorRow {
  totp_box: Buffer | null;
  totp_since: number | null;
  totp_step: number;
  codes_left: number;
}

/** The members of a tenant, and their second factors. */
export function teamReads(db: Database) {
  const selectAll = USERS.select<[string]>(db, 'WHERE tenant_id = ? ORDER BY created_at, id');
  const selectOne = USERS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  const selectFactor = db.prepare<[string], FactorRow>(
    `SELECT totp_box, totp_since, totp_step,
            (SELECT count(*) FROM recovery_codes c WHERE c.user_id = o.id) AS codes_left
     FROM owners o WHERE id = ?`,
  );

  return {
    listMembers: (tenantId) => selectAll.all(tenantId),
    getMember: (tenantId, id) => selectOne.get(id, tenantId),
    getFactor(userId) {
      const row = selectFactor.get(userId);
      if (row === undefined || row.totp_box === null) return null;
      const { totp_box: box, totp_since: since, totp_step: step, codes_left: codesLeft } = row;
      return { box, since, step, codesLeft };
    },
  } satisfies Part<TeamStore & FactorStore>;
}

export const KEYS = new Table<ApiKey>('api_keys', {
  id: 'plain',
  tenantId: 'plain',
  name: 'plain',
  hash: 'plain',
  last4: 'plain',
  scopes: 'json',
  rateLimit: 'plain',
  expiresAt: 'plain',
  lastUsedAt: 'plain',
  revokedAt: 'plain',
  createdAt: 'plain',
});

export function keyReads(db: Database) {
  const selectAll = KEYS.select<[]>(db, 'ORDER BY created_at, id');
  const selectOfTenant = KEYS.select<[string]>(db, 'WHERE tenant_id = ? ORDER BY created_at, id');
  const selectPage = KEYS.select<[{ tenantId: string } & CreationPage]>(
    db,
    'WHERE tenant_id = :tenantId AND (created_at, id) > (:createdAt, :id) ORDER BY created_at, id LIMIT :limit',
  );
  const selectOne = KEYS.select<[string, string]>(db, 'WHERE id = ? AND tenant_id = ?');
  // Two look-ups by primary key, once per request: a join would have to rename the columns that both tables have.
  const selectByHash = KEYS.select<[string]>(db, 'WHERE hash = ?');
  const selectTenant = TENANTS.select<[string]>(db, 'WHERE id = ?');

  return {
    listKeys: (tenantId) => (tenantId === null ? selectAll.all() : selectOfTenant.all(tenantId)),
    findKey(hash) {
      const key = selectByHash.get(hash);
      const tenant = key === null ? null : selectTenant.get(key.tenantId);
      return key === null || tenant === null ? null : { key, tenant };
    },
    pageKeys: (tenantId, page) => pageByCreation(page, selectPage.all({ tenantId, ...creationPage(page) })),
    getKey: (tenantId, id) => selectOne.get(id, tenantId),
  } satisfies Part<AccountStore & KeyStore>;
}

interface AuditRow extends AuditEntry {
  position: number;
}

const FAR_FUTURE = Number.MAX_SAFE_INTEGER;

/** Filters besides time: each has its own index, and so have both together. */
const SHAPES = {
  any: 'INDEXED BY audit_by_time WHERE tenant_id = :tenantId',
  actor: 'INDEXED BY audit_by_actor WHERE tenant_id = :tenantId AND actor = :actor',
  action: 'INDEXED BY audit_by_action WHERE tenant_id = :tenantId AND action = :action',
  both: 'INDEXED BY audit_by_both WHERE tenant_id = :tenantId AND actor = :actor AND action = :action',
} as const;
export type AuditShape = keyof typeof SHAPES;

/** A page of the audit log, newest first. */
export function auditPageSql(shape: AuditShape): string {
  return `SELECT position, at, actor, action, subject, count, client FROM audit ${SHAPES[shape]}
    AND at >= :from AND at < :to AND (at, position) < (:beforeAt, :beforePosition)
    ORDER BY at DESC, position DESC LIMIT :limit`;
}

/** The audit log. */
export function auditReads(db: Database) {
  const prepare = (shape: AuditShape): Statement<Record<string, unknown>[], AuditRow> =>
    db.prepare(auditPageSql(shape));
  const pages = {
    any: prepare('any'),
    actor: prepare('actor'),
    action: prepare('action'),
    both: prepare('both'),
  };

  return {
    pageAudit(tenantId, { actor, action, from, to, limit, after }) {
      const shape =
        actor === null ? (action === null ? 'any' : 'action') : action === null ? 'actor' : 'both';
      const [beforeAt, beforePosition] = placeOf(after);
      const found = pages[shape].all({
        ...{ tenantId, beforeAt, beforePosition, limit: limit + 1 },
        ...{ from: from ?? 0, to: to ?? FAR_FUTURE },
        ...(actor !== null && { actor }),
        ...(action !== null && { action }),
      });
      return pageOf(found, limit, {
        toRow: ({ position: _, ...entry }): AuditEntry => entry,
        position: ({ at, position }) => [at, position],
      });
    },
  } satisfies Part<AuditStore>;
}

function placeOf(after: Position | null): [number, number] {
  if (after === null) return [FAR_FUTURE, FAR_FUTURE];
  const [at, position] = after;
  if (typeof at === 'number' && typeof position === 'number') return [at, position];
  throw new DomainError('INVALID_CURSOR', 'The cursor belongs to another list.');
}
