import type { NewMail } from '../model/mail.ts';
import type { Session, Tenant, User } from '../model/tenant.ts';

/** A session that is in force, whose it is, and of which tenant. */
export interface OpenSession {
  session: Session;
  user: User;
  tenant: Tenant;
}

/** Sessions that a person may have at a time. */
export const MOST_SESSIONS = 20;

/** People who sign in: their passwords, one-time links and sessions. */
export interface SessionStore {
  /** Everybody of that address, in whatever case; at most `limit`, oldest first. */
  usersByEmail(email: string, limit: number): Promise<User[]>;
  /** The tenant's oldest owner. */
  firstOwner(tenantId: string): Promise<User | null>;
  /** Whose one-time link this is, where it is still good at `now`. */
  userOfLink(tokenHash: string, now: number): Promise<User | null>;
  /**
   * Gives a user a new one-time link, with the mail that holds it, if any; the one before counts no more. False where there
   * is no such user.
   */
  setLink(userId: string, link: { tokenHash: string; expiresAt: number }, mail?: NewMail): Promise<boolean>;
  /**
   * Sets the password of whoever the link belongs to, uses the link up, ends all earlier sessions and begins `session`,
   * where there is one; null where the link is not good any more, and then nothing changes, nor is the mail written.
   */
  setPasswordByLink(change: {
    linkHash: string;
    passwordHash: string;
    session: Omit<Session, 'userId'> | null;
    now: number;
    /** What tells the person of it; left out where there was no password before. */
    mail?: NewMail | undefined;
  }): Promise<User | null>;
  /** Whether anybody has a password yet. */
  anyPassword(): Promise<boolean>;
  /** Begins a session; of more than {@link MOST_SESSIONS} of a person the oldest end. */
  createSession(session: Session): Promise<void>;
  /** Changes nothing: the audit list is told that somebody was refused at log-in, or that the door was locked. */
  noteRefusal(refusal: { userId: string; isLocked: boolean }): Promise<void>;
  /** Null where there is none, or where it has expired by `now`. */
  findSession(tokenHash: string, now: number): Promise<OpenSession | null>;
  touchSession(tokenHash: string, use: { seenAt: number; expiresAt: number }): Promise<void>;
  /** False where there was none. */
  endSession(tokenHash: string): Promise<boolean>;
  /** Sessions of a person that are in force at `now`, the last used first. */
  listSessions(userId: string, now: number): Promise<Session[]>;
  /** Ends a session of a person by its id; null: all but the one of `keep`. False where there was none to end. */
  endSessionOf(userId: string, id: string | null, keep: string): Promise<boolean>;
  /** Sets a person's password and ends all sessions but the one of `keep`; false where there is no such person. */
  changePassword(change: {
    userId: string;
    passwordHash: string;
    keep: string;
    mail?: NewMail | undefined;
  }): Promise<boolean>;
  /** Removes sessions that expired before; how many. */
  pruneSessions(before: number, limit: number): Promise<number>;
}
