import type { RoutedEvent } from '../model/event.ts';
import type { Mail, MailFacts, NewMail } from '../model/mail.ts';
import type { TenantSettings } from '../model/tenant.ts';

/** A row of the outbox, whose `kind` is a column. */
export type MailRow = Omit<Mail, 'facts'> & { kind: MailFacts['kind']; facts: object };

/** A row of a tenant's settings, without nesting. */
export type SettingsRow = Omit<TenantSettings, 'digest'> & {
  digestEnabled: boolean;
  digestHour: number;
  digestFrequency: TenantSettings['digest']['frequency'];
  digestProfileIds: string[];
};

/** A limit on mail per key. */
export interface MailQuota {
  key: string;
  most: number;
  /** At most a day. */
  withinMs: number;
}

/** The outbox of account mail. Mail is added by the changes that cause it; these methods send it. */
export interface MailStore {
  /** Adds a mail to the outbox; a repeated id changes nothing. */
  addMail(mail: NewMail): Promise<void>;
  /** The tenant's mail, newest first. */
  listMail(tenantId: string, limit: number): Promise<Mail[]>;
  /**
   * Mail due by `now`, with the recipient's address (null: there is none). Links for new passwords and notices of changed
   * credentials come first; within each group, tenants take turns, longest due first.
   */
  dueMail(now: number, limit: number): Promise<(Mail & { to: string | null })[]>;
  /** False if it is already marked as sent. */
  markMailSent(id: string, now: number): Promise<boolean>;
  /** Schedules the next try at `nextTryAt`; null gives up. */
  markMailFailed(id: string, nextTryAt: number | null): Promise<boolean>;
  /** Makes a mail of the tenant due at `now`, even if it was sent before; false if there is none. */
  resendMail(tenantId: string, id: string, now: number): Promise<boolean>;
  /** Counts a mail for every key, or for none: then returns the first key at its limit, and how long until it is not. */
  countMail(quotas: MailQuota[], now: number): Promise<{ key: string; waitMs: number } | null>;
  /** Pending mail that was not announced yet. */
  unannouncedMail(limit: number): Promise<Mail[]>;
  markMailAnnounced(ids: string[]): Promise<void>;
  /** Deletes up to `limit` mails written before, sent or not; returns their number. */
  pruneMail(before: number, limit: number): Promise<number>;
}

/** The signals of a digest. */
export interface DigestRange {
  /** Those after this position in commit order. A signal that was moved counts at its first position. */
  after: number;
  /** Older ones are excluded, Unix milliseconds. */
  from: number;
  limit: number;
  /** Empty or omitted: all. */
  profileIds?: readonly string[];
  /** Only signals without feedback or a lead. */
  isUntouched?: boolean;
}

/** Signals found in a range. */
export interface FoundSignals {
  /** The end of the commit order at that moment: the next digest starts after it. */
  position: number;
  /** When the oldest of them was detected; null: there are none. */
  oldest: number | null;
  hot: number;
  warm: number;
  /** The best of them as wire JSON, best first. */
  wires: string[];
}

/** A digest with its event, deliveries and mail. */
export interface DigestChange {
  tenantId: string;
  /** As it was read: if two processes create the same digest, only one succeeds. */
  expectedDueAt: number;
  nextDueAt: number;
  /** When signals were searched, and up to which position in commit order. */
  since: number;
  position: number;
  /** When it was created; null: there was nothing to report. */
  madeAt: number | null;
  event: RoutedEvent | null;
  mails: NewMail[];
}

/** Settings of tenants, and their daily digests. */
export interface DigestStore {
  getSettings(tenantId: string): Promise<TenantSettings | null>;
  /** Stores settings and the time of the next digest; false if the tenant is gone. */
  saveSettings(settings: Omit<TenantSettings, 'digestMadeAt'>): Promise<boolean>;
  /** Tenants whose digest is due, longest due first, including those not scheduled yet. */
  dueDigests(now: number, limit: number): Promise<TenantSettings[]>;
  /** The hot and warm signals of a range; of very many, only the most recently stored ones are read. */
  findBest(tenantId: string, range: DigestRange): Promise<FoundSignals>;
  /** Ids of the users who get the mail. */
  digestReaders(tenantId: string): Promise<string[]>;
  /** Sets whether a user gets the mail; false if that is unchanged, or there is no such user. */
  setDigestReader(tenantId: string, userId: string, wanted: boolean): Promise<boolean>;
  /** Stores event, deliveries, mail and the next time in one commit; false if it is no longer due. */
  commitDigest(change: DigestChange): Promise<boolean>;
}
