import { createHash } from 'node:crypto';
import pLimit from 'p-limit';
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { Mail } from '../model/mail.ts';
import type { MailQuota, MailStore } from '../store/mail-store.ts';
import { type ComposeDeps, composeMail } from './compose-mail.ts';

/** An email to be handed to the mail server. */
export interface OutgoingMail {
  /** The same for every attempt, so that the receiver can detect duplicates. */
  messageId: string;
  to: string;
  subject: string;
  text: string;
  /** The HTML version, if there is one. */
  html?: string;
  /** The one-click unsubscribe URL. */
  unsubscribeUrl?: string;
  /** When it was written, Unix milliseconds. */
  writtenAt: number;
}

/** Hands an email to the mail server; rejects if the server did not accept it. */
export type SendMail = (mail: OutgoingMail) => Promise<void>;

export interface MailLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface MailDeps extends ComposeDeps {
  store: MailStore & ComposeDeps['store'];
  clock: Clock;
  /** Null if no mail server is configured: mail then stays in the outbox. */
  send: SendMail | null;
  log: MailLog;
}

const AT_ONCE = 20;
/** Mail of different tenants is sent at once: a server may take 20 s for one email, and longer for some addresses than for others. */
const TENANTS_AT_ONCE = 8;
/** No further email is started after this time, so that newer ones get their turn. */
const LOOK_MS = 5_000;
/**
 * Delays between attempts. After the last one, the email is two days old: sending is given up, and it stays in the
 * outbox.
 */
const WAITS_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
];
/** Older mail is not sent: it has been waiting for a mail server to be configured. */
export const STALE_MS = 7 * 24 * HOUR_MS;

/**
 * Sends due mail; without a mail server, logs once per email that it is waiting. Addresses and texts are never
 * logged.
 */
export async function workOutbox(deps: MailDeps, isStopping: () => boolean = () => false): Promise<void> {
  const { clock, send } = deps;
  if (send === null) {
    await announceWaiting(deps);
    return;
  }
  const until = clock.monotonic() + LOOK_MS;
  const due = Map.groupBy(await deps.store.dueMail(clock.now(), AT_ONCE), ({ tenantId }) => tenantId);
  const limit = pLimit(TENANTS_AT_ONCE);
  const sendAll = async (mails: readonly DueMail[]) => {
    for (const mail of mails) {
      if (isStopping() || clock.monotonic() > until) return;
      await trySend(deps, send, mail);
    }
  };
  await Promise.all([...due.values()].map((mails) => limit(sendAll, mails)));
}

type DueMail = Mail & { to: string | null };

async function trySend(deps: MailDeps, send: SendMail, mail: DueMail): Promise<void> {
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

/** The cause of an error without its message, which may repeat the address. */
function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  const { code, responseCode } = error as Error & { code?: unknown; responseCode?: unknown };
  return [code, responseCode].filter((part) => part !== undefined).join(' ') || error.name;
}

/** Maximum number of emails that the users of a tenant can trigger per hour: invitations and resent mail. */
const OF_A_TENANT = 20;
/** Maximum number of invitations per address and day, for all tenants together. */
const TO_A_STRANGER = 3;
/** Maximum number of password reset links per address and day. */
const RESETS = 10;

/**
 * Prevents users from flooding a mailbox, or the outbox that all tenants share; also across restarts. Refused emails
 * do not count.
 */
export interface MailLimits {
  /** @throws DomainError `RATE_LIMITED` */
  invite(tenantId: string, email: string): Promise<void>;
  /** @throws DomainError `RATE_LIMITED` */
  resend(tenantId: string): Promise<void>;
  /** Milliseconds until another link may be sent; null if it may be sent now, which is counted. */
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

/** A hash that identifies an address without revealing it: addresses of strangers are not stored anywhere else. */
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
