import type { Database } from 'better-sqlite3';
import type { Session } from '../../../model/user.ts';
import type { SessionStore } from '../../session-store.ts';
import type { Part } from '../../store.ts';
import { createLinkRead } from '../reads/sessions.ts';

/** Passwords, one-time links and sessions. */
export function sessionChanges(db: Database) {
  const insert = db.prepare<Session[]>(
    `INSERT INTO sessions (token_hash, user_id, created_at, seen_at, expires_at)
     VALUES (:tokenHash, :userId, :createdAt, :seenAt, :expiresAt)`,
  );
  const updateLink = db.prepare<[string, number, string]>(
    'UPDATE owners SET setup_token_hash = ?, setup_expires_at = ? WHERE id = ?',
  );
  const updatePassword = db.prepare<[string, string]>(
    "UPDATE owners SET password_hash = ?, setup_token_hash = '', setup_expires_at = 0 WHERE id = ?",
  );
  const deleteOfUser = db.prepare<[string]>('DELETE FROM sessions WHERE user_id = ?');
  const deleteOne = db.prepare<[string]>('DELETE FROM sessions WHERE token_hash = ?');
  const update = db.prepare<[number, number, string]>(
    'UPDATE sessions SET seen_at = ?, expires_at = ? WHERE token_hash = ?',
  );
  const deleteExpired = db.prepare<[number, number]>(
    'DELETE FROM sessions WHERE token_hash IN (SELECT token_hash FROM sessions WHERE expires_at < ? LIMIT ?)',
  );
  const userOfLink = createLinkRead(db);

  return {
    setLink: (userId, { tokenHash, expiresAt }) => updateLink.run(tokenHash, expiresAt, userId).changes === 1,
    setPasswordByLink({ linkHash, passwordHash, session, now }) {
      const user = userOfLink(linkHash, now);
      if (user === null) return null;
      updatePassword.run(passwordHash, user.id);
      deleteOfUser.run(user.id);
      insert.run({ ...session, userId: user.id });
      return { ...user, passwordHash };
    },
    createSession: (session) => void insert.run(session),
    touchSession: (tokenHash, { seenAt, expiresAt }) => void update.run(seenAt, expiresAt, tokenHash),
    endSession: (tokenHash) => deleteOne.run(tokenHash).changes === 1,
    pruneSessions: (before, limit) => deleteExpired.run(before, limit).changes,
  } satisfies Part<SessionStore>;
}
