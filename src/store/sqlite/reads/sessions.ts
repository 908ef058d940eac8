import type { Database } from 'better-sqlite3';
import type { Role, Session, User } from '../../../model/user.ts';
import type { SessionStore } from '../../session-store.ts';
import type { Part } from '../../store.ts';
import { type TenantRow, toTenant } from './tenants.ts';

/** An `owners` row, as far as it tells who somebody is. */
export interface UserRow {
  id: string;
  tenant_id: string;
  email: string;
  role: string;
  password_hash: string | null;
  totp_since: number | null;
  created_at: number;
}

interface SessionRow {
  token_hash: string;
  id: string;
  client: string;
  user_id: string;
  created_at: number;
  seen_at: number;
  expires_at: number;
}

export function toUser(row: UserRow): User {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    email: row.email,
    role: row.role as Role,
    passwordHash: row.password_hash,
    hasSecondFactor: row.totp_since !== null,
    createdAt: row.created_at,
  };
}

/** What {@link toUser} reads. */
export const USER_COLUMNS = 'id, tenant_id, email, role, password_hash, totp_since, created_at';

function toSession(row: SessionRow): Session {
  return {
    tokenHash: row.token_hash,
    id: row.id,
    client: row.client,
    userId: row.user_id,
    createdAt: row.created_at,
    seenAt: row.seen_at,
    expiresAt: row.expires_at,
  };
}

/** Finds whoever a one-time link belongs to while it is good: part of its use too. */
export function createLinkRead(db: Database): (tokenHash: string, now: number) => User | null {
  const select = db.prepare<[string, number], UserRow>(
    `SELECT ${USER_COLUMNS} FROM owners WHERE setup_token_hash = ? AND setup_token_hash <> '' AND setup_expires_at > ?`,
  );
  return (tokenHash, now) => {
    const row = select.get(tokenHash, now);
    return row === undefined ? null : toUser(row);
  };
}

/** People and their sessions. */
export function sessionReads(db: Database) {
  const selectByEmail = db.prepare<[string, number], UserRow>(
    `SELECT ${USER_COLUMNS} FROM owners WHERE lower(email) = lower(?) ORDER BY created_at, id LIMIT ?`,
  );
  const selectOwner = db.prepare<[string], UserRow>(
    `SELECT ${USER_COLUMNS} FROM owners WHERE tenant_id = ? AND role = 'owner' ORDER BY created_at, id LIMIT 1`,
  );
  const selectAnyPassword = db
    .prepare<[], number>('SELECT 1 FROM owners WHERE password_hash IS NOT NULL LIMIT 1')
    .pluck();
  // Three look-ups by primary key, once a screen.
  const selectSession = db.prepare<[string, number], SessionRow>(
    'SELECT * FROM sessions WHERE token_hash = ? AND expires_at > ?',
  );
  const selectOfUser = db.prepare<[string, number], SessionRow>(
    'SELECT * FROM sessions WHERE user_id = ? AND expires_at > ? ORDER BY seen_at DESC, token_hash',
  );
  const selectUser = db.prepare<[string], UserRow>(`SELECT ${USER_COLUMNS} FROM owners WHERE id = ?`);
  const selectTenant = db.prepare<[string], TenantRow>('SELECT * FROM tenants WHERE id = ?');

  return {
    usersByEmail: (email, limit) => selectByEmail.all(email, limit).map(toUser),
    firstOwner(tenantId) {
      const row = selectOwner.get(tenantId);
      return row === undefined ? null : toUser(row);
    },
    userOfLink: createLinkRead(db),
    anyPassword: () => selectAnyPassword.get() !== undefined,
    listSessions: (userId, now) => selectOfUser.all(userId, now).map(toSession),
    findSession(tokenHash, now) {
      const session = selectSession.get(tokenHash, now);
      const user = session === undefined ? undefined : selectUser.get(session.user_id);
      const tenant = user === undefined ? undefined : selectTenant.get(user.tenant_id);
      if (session === undefined || user === undefined || tenant === undefined) return null;
      return {
        session: toSession(session),
        user: toUser(user),
        tenant: toTenant(tenant),
      };
    },
  } satisfies Part<SessionStore>;
}
