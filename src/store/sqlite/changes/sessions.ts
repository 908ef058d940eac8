import type { Database } from 'better-sqlite3';
import type { SessionStore } from '../../session-store.ts';
import type { Part } from '../../store.ts';
import { createLinkRead, SESSIONS } from '../reads/sessions.ts';
import { createMailWriter } from './mail.ts';

/** Passwords, one-time links and sessions. */
export function sessionChanges(db: Database) {
  const insert = SESSIONS.insert(db);
  const updateLink = db.prepare<[string, number, string]>(
    'UPDATE owners SET setup_token_hash = ?, setup_expires_at = ? WHERE id = ?',
  );
  const updatePassword = db.prepare<[string, string]>(
    "UPDATE owners SET password_hash = ?, setup_token_hash = '', setup_expires_at = 0 WHERE id = ?",
  );
  const deleteOfUser = db.prepare<[string]>('DELETE FROM sessions WHERE user_id = ?');
  const deleteOne = db.prepare<[string]>('DELETE FROM sessions WHERE token_hash = ?');
  const deleteById = db.prepare<[string, string]>('DELETE FROM sessions WHERE user_id = ? AND id = ?');
  const deleteOthers = db.prepare<[string, string]>(
    'DELETE FROM sessions WHERE user_id = ? AND token_hash <> ?',
  );
  const update = db.prepare<[number, number, string]>(
    'UPDATE sessions SET seen_at = ?, expires_at = ? WHERE token_hash = ?',
  );
  const deleteExpired = db.prepare<[number, number]>(
    'DELETE FROM sessions WHERE token_hash IN (SELECT token_hash FROM sessions WHERE expires_at < ? LIMIT ?)',
  );
  const userOfLink = createLinkRead(db);
  const addMail = createMailWriter(db);

  return {
    setLink(userId, { tokenHash, expiresAt }, mail) {
      if (updateLink.run(tokenHash, expiresAt, userId).changes === 0) return false;
      if (mail !== undefined) addMail(mail);
      return true;
    },
    setPasswordByLink({ linkHash, passwordHash, session, now }) {
      const user = userOfLink(linkHash, now);
      if (user === null) return null;
      updatePassword.run(passwordHash, user.id);
      deleteOfUser.run(user.id);
      if (session !== null) insert({ ...session, userId: user.id });
      return { ...user, passwordHash };
    },
    createSession: (session) => void insert(session),
    touchSession: (tokenHash, { seenAt, expiresAt }) => void update.run(seenAt, expiresAt, tokenHash),
    endSession: (tokenHash) => deleteOne.run(tokenHash).changes === 1,
    endSessionOf: (userId, id, keep) =>
      (id === null ? deleteOthers.run(userId, keep) : deleteById.run(userId, id)).changes > 0,
    changePassword({ userId, passwordHash, keep }) {
      if (updatePassword.run(passwordHash, userId).changes === 0) return false;
      deleteOthers.run(userId, keep);
      return true;
    },
    pruneSessions: (before, limit) => deleteExpired.run(before, limit).changes,
  } satisfies Part<SessionStore>;
}
