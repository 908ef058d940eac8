import type { Database } from 'better-sqlite3';
import { MOST_SESSIONS, type SessionStore } from '../../session-store.ts';
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
  // What a bounded number stays of; newest first, as it is the oldest that end.
  const deleteBeyond = db.prepare<[string, string, number]>(
    `DELETE FROM sessions WHERE user_id = ? AND token_hash IN
       (SELECT token_hash FROM sessions WHERE user_id = ? ORDER BY created_at DESC, token_hash LIMIT -1 OFFSET ?)`,
  );
  const userOfLink = createLinkRead(db);
  const addMail = createMailWriter(db);

  return {
    setLink(userId, { tokenHash, expiresAt }, mail) {
      if (updateLink.run(tokenHash, expiresAt, userId).changes === 0) return false;
      if (mail !== undefined) addMail(mail);
      return true;
    },
    setPasswordByLink({ linkHash, passwordHash, session, now, mail }) {
      const user = userOfLink(linkHash, now);
      if (user === null) return null;
      updatePassword.run(passwordHash, user.id);
      deleteOfUser.run(user.id);
      if (session !== null) insert({ ...session, userId: user.id });
      if (mail !== undefined) addMail(mail);
      return { ...user, passwordHash };
    },
    createSession(session) {
      insert(session);
      deleteBeyond.run(session.userId, session.userId, MOST_SESSIONS);
    },
    noteRefusal: () => undefined,
    touchSession: (tokenHash, { seenAt, expiresAt }) => void update.run(seenAt, expiresAt, tokenHash),
    endSession: (tokenHash) => deleteOne.run(tokenHash).changes === 1,
    endSessionOf: (userId, id, keep) =>
      (id === null ? deleteOthers.run(userId, keep) : deleteById.run(userId, id)).changes > 0,
    changePassword({ userId, passwordHash, keep, mail }) {
      if (updatePassword.run(passwordHash, userId).changes === 0) return false;
      deleteOthers.run(userId, keep);
      if (mail !== undefined) addMail(mail);
      return true;
    },
    pruneSessions: (before, limit) => deleteExpired.run(before, limit).changes,
  } satisfies Part<SessionStore>;
}
