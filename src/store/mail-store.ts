import type { RoutedEvent } from '../model/event.ts';
import type { Mail, NewMail } from '../model/mail.ts';
import type { TenantSettings } from '../model/tenant.ts';

/** How much mail may be sent under a key. */
export interface MailQuota {
  key: string;
  most: number;
  /** A day at most. */
  withinMs: number;
}

/** The outbox of account mail. Mail is added by the changes that cause it; these methods send it. */
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

/** Which signals a digest is of. */
export interface DigestRange {
  /** Those behind this place in the order by commit, up to its present end. One that was moved there stands where it stood first. */
  after: number;
  /** Older ones are no news, Unix milliseconds. */
  from: number;
  limit: number;
  /** Empty or left out: all of them. */
  profileIds?: readonly string[];
  /** Only signals without feedback or a lead. */
  isUntouched?: boolean;
}

/** What was found in a range. */
export interface FoundSignals {
  /** The end of the order at that moment: the next digest begins behind it. */
  position: number;
  /** When the oldest of them was detected; null: there is none. */
  oldest: number | null;
  hot: number;
  warm: number;
  /** The best of them as wire JSON, best first. */
  wires: string[];
}

/** A digest with all that it brings about. */
export interface DigestChange {
  tenantId: string;
  /** As it was read: of two that make the same digest one does. */
  expectedDueAt: number;
  nextDueAt: number;
  /** When it was looked for signals, and up to which place in the order by commit. */
  since: number;
  position: number;
  /** When it was made; null: there was nothing to tell. */
  madeAt: number | null;
  event: RoutedEvent | null;
  mails: NewMail[];
}

/** Settings of tenants and their daily digests. */
export interface DigestStore {
  getSettings(tenantId: string): Promise<TenantSettings | null>;
  /** Stores settings and when the next digest is due; false where the tenant is gone. */
  saveSettings(settings: Omit<TenantSettings, 'digestMadeAt'>): Promise<boolean>;
  /** Those whose digest is due, the longest due first; those that are not planned yet too. */
  dueDigests(now: number, limit: number): Promise<TenantSettings[]>;
  /** The hot and warm signals of a range; of very many those that were stored last are looked at. */
  findBest(tenantId: string, range: DigestRange): Promise<FoundSignals>;
  /** Ids of the people who get its mail. */
  digestReaders(tenantId: string): Promise<string[]>;
  /** Whether a person gets its mail; false where that was so already, or there is no such person. */
  setDigestReader(tenantId: string, userId: string, wanted: boolean): Promise<boolean>;
  /** Event, deliveries, mail and the next time in one commit; false where it is not due any more. */
  commitDigest(change: DigestChange): Promise<boolean>;
}
