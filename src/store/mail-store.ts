import type { Mail, NewMail } from '../model/mail.ts';

/** How much mail may be sent under a key. */
export interface MailQuota {
  key: string;
  most: number;
  /** A day at most. */
  withinMs: number;
}

/** The outbox of account mail. What is told of a change is written with that change; this is for what becomes of it. */
export interface MailStore {
  /** Puts a mail of its own into the outbox; the same id a second time changes nothing. */
  addMail(mail: NewMail): Promise<void>;
  /** The tenant's mail, newest first. */
  listMail(tenantId: string, limit: number): Promise<Mail[]>;
  /**
   * What should be tried by `now`, with the address of whom it is for (null: there is none). Links for new passwords and news of
   * changed credentials come first; of the rest, and of those, one of each tenant by turns, the longest due first.
   */
  dueMail(now: number, limit: number): Promise<(Mail & { to: string | null })[]>;
  /** False where it was marked as sent before. */
  markMailSent(id: string, now: number): Promise<boolean>;
  /** Tries again at `nextTryAt`; null gives it up. */
  markMailFailed(id: string, nextTryAt: number | null): Promise<boolean>;
  /** Makes a mail of the tenant due at `now`, sent before or not; false where there is none. */
  resendMail(tenantId: string, id: string, now: number): Promise<boolean>;
  /** Counts a mail under each key, or none of them: the first that is full then, and after how long it is not. */
  countMail(quotas: MailQuota[], now: number): Promise<{ key: string; waitMs: number } | null>;
  /** What waits and was not yet announced. */
  unannouncedMail(limit: number): Promise<Mail[]>;
  markMailAnnounced(ids: string[]): Promise<void>;
  /** Removes mail written before, sent or not; how many. */
  pruneMail(before: number, limit: number): Promise<number>;
}
