import type { Database } from 'better-sqlite3';
import type { Session, User } from '../../../model/tenant.ts';
import type { SessionStore } from '../../session-store.ts';
import type { Part } from '../../store.ts';
import { Table } from '../table.ts';
import { TENANTS } from './tenants.ts';

/** People, as far as it is told who they are. */
export const USERS = new Table<User>(
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

/** Finds whoever a one-time link belongs to while it is good: part of its use too. */
export function createLinkRead(db: Database): (tokenHash: string, now: number) => User | null {
  const select = USERS.select<[string, number]>(
    db,
    "WHERE setup_token_hash = ? AND setup_token_hash <> '' AND setup_expires_at > ?",
  );
  return (tokenHash, now) => select.get(tokenHash, now);
}

/** People and their sessions. */
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
  // Three look-ups by primary key, once a screen.
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
