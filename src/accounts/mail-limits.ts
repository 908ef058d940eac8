import { createHash } from 'node:crypto';
import { type Clock, DAY_MS, HOUR_MS } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { MailQuota, MailStore } from '../store/mail-store.ts';

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
