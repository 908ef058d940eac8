import { createHash } from 'node:crypto';
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { Mail } from '../model/mail.ts';
import type { MailQuota, MailStore } from '../store/mail-store.ts';
import { type ComposeDeps, composeMail } from './compose-mail.ts';

/** A mail on its way to the mail server. */
export interface OutgoingMail {
  /** The same for every try, so that a receiver can tell a mail that comes twice. */
  messageId: string;
  to: string;
  subject: string;
  text: string;
  /** The same as HTML, where it has one. */
  html?: string;
  /** Where one click ends such mail. */
  unsubscribeUrl?: string;
  /** When it was written, Unix milliseconds. */
  writtenAt: number;
}

/** Hands a mail to the mail server; rejects where that did not take it. */
export type SendMail = (mail: OutgoingMail) => Promise<void>;

export interface MailLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface MailDeps extends ComposeDeps {
  store: MailStore & ComposeDeps['store'];
  clock: Clock;
  /** Null where there is no mail server: mail then stays in the outbox. */
  send: SendMail | null;
  log: MailLog;
}

const AT_ONCE = 20;
/** Waits between tries. Once they are used up the mail is two days old and given up; it stays in the outbox. */
const WAITS_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
];
/** Older mail is not worth sending: it waited for a mail server to be set up. */
export const STALE_MS = 7 * 24 * HOUR_MS;

/** Sends what is due, or says once of each mail that it waits. Addresses and texts never reach the log. */
export async function workOutbox(deps: MailDeps, isStopping: () => boolean = () => false): Promise<void> {
  if (deps.send === null) {
    await announceWaiting(deps);
    return;
  }
  for (const mail of await deps.store.dueMail(deps.clock.now(), AT_ONCE)) {
    if (isStopping()) return;
    await trySend(deps, deps.send, mail);
  }
}

async function trySend(deps: MailDeps, send: SendMail, mail: Mail & { to: string | null }): Promise<void> {
  const { store, clock, log } = deps;
  const fields = { mailId: mail.id, tenantId: mail.tenantId, kind: mail.facts.kind };
  if (mail.to === null || clock.now() - mail.createdAt > STALE_MS) {
    await store.markMailFailed(mail.id, null);
    log.warn(
      fields,
      mail.to === null ? 'account mail has no owner to go to' : 'account mail is too old to send',
    );
    return;
  }
  try {
    const written = await composeMail(deps, mail);
    await send({ messageId: mail.id, to: mail.to, ...written, writtenAt: mail.createdAt });
  } catch (error) {
    const wait = WAITS_MS[mail.tries];
    await store.markMailFailed(mail.id, wait === undefined ? null : clock.now() + wait);
    const outcome = wait === undefined ? 'was given up' : 'could not be sent; trying again';
    log.warn({ ...fields, tries: mail.tries + 1, fault: faultOf(error) }, `account mail ${outcome}`);
    return;
  }
  await store.markMailSent(mail.id, clock.now());
  log.info(fields, 'account mail sent');
}

async function announceWaiting({ store, log }: MailDeps): Promise<void> {
  const waiting = await store.unannouncedMail(AT_ONCE);
  if (waiting.length === 0) return;
  for (const { id, tenantId, facts } of waiting) {
    log.warn(
      { mailId: id, tenantId, kind: facts.kind },
      'account mail is kept in the outbox, as there is no mail server; set SMTP_URL and MAIL_FROM',
    );
  }
  await store.markMailAnnounced(waiting.map(({ id }) => id));
}

/** What went wrong, without the address: a mail server's own words repeat it. */
function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code, responseCode } = error as Error & { code?: unknown; responseCode?: unknown };
  return [code, responseCode].filter((part) => part !== undefined).join(' ') || error.name;
}

/** Mail that people of a tenant may have sent in an hour: invitations, and what they send again. */
const OF_A_TENANT = 20;
/** Invitations that one address may get in a day, from whichever tenants. */
const TO_A_STRANGER = 3;
/** Links for a new password that one address may get in a day. */
const RESETS = 10;

/**
 * Keeps people from filling a mailbox, or the outbox that all tenants share, over restarts too. What is refused counts
 * nothing.
 */
export interface MailLimits {
  /** @throws DomainError `RATE_LIMITED` */
  invite(tenantId: string, email: string): Promise<void>;
  /** @throws DomainError `RATE_LIMITED` */
  resend(tenantId: string): Promise<void>;
  /** Milliseconds to wait for another link; null where it may be sent, and is counted. */
  reset(email: string): Promise<number | null>;
}

export function createMailLimits(store: Pick<MailStore, 'countMail'>, clock: Clock): MailLimits {
  const ofTenant = (tenantId: string): MailQuota => ({ key: tenantId, most: OF_A_TENANT, withinMs: HOUR_MS });
  const count = (quotas: MailQuota[]) => store.countMail(quotas, clock.now());

  return {
    async invite(tenantId, email) {
      const toStranger = { key: keyOf('invite', email), most: TO_A_STRANGER, withinMs: DAY_MS };
      const full = await count([ofTenant(tenantId), toStranger]);
      if (full === null) return;
      if (full.key === tenantId) throw tooMuchOfTenant(full.waitMs);
      throw tooMuchMail(
        full.waitMs,
        `At most ${TO_A_STRANGER} invitations a day are sent to that address, and that limit is reached.`,
      );
    },
    async resend(tenantId) {
      const full = await count([ofTenant(tenantId)]);
      if (full !== null) throw tooMuchOfTenant(full.waitMs);
    },
    async reset(email) {
      const full = await count([{ key: keyOf('reset', email), most: RESETS, withinMs: DAY_MS }]);
      return full?.waitMs ?? null;
    },
  };
}

/** An address is known again by it, and cannot be read from it: strangers' addresses are kept nowhere else. */
function keyOf(what: string, email: string): string {
  const address = email.trim().toLowerCase().slice(0, 254);
  return `${what} ${createHash('sha256').update(address).digest('base64url')}`;
}

function tooMuchOfTenant(waitMs: number): DomainError {
  return tooMuchMail(waitMs, `An account can send at most ${OF_A_TENANT} emails per hour.`);
}

function tooMuchMail(waitMs: number, detail: string): DomainError {
  const minutes = Math.ceil(waitMs / 60_000);
  return new DomainError('RATE_LIMITED', detail, {
    hint: `Try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`,
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
  });
}
