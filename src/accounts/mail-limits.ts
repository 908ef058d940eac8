import type { Clock } from '../lib/clock.ts';
import { createWindows, type Windows } from '../lib/windows.ts';
import { DomainError } from '../model/errors.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Mail that people of a tenant may have sent in an hour: invitations, and what they send again. */
const OF_A_TENANT = 20;
/** Invitations that one address may get in a day, from whichever tenants. */
const TO_A_STRANGER = 3;
/** Links for a new password that one address may get in a day. */
const RESETS = 10;

/** Keeps people from filling a mailbox, or the outbox that all tenants share. What is refused counts nothing. */
export interface MailLimits {
  /** @throws DomainError `RATE_LIMITED` */
  invite(tenantId: string, email: string): void;
  /** @throws DomainError `RATE_LIMITED` */
  resend(tenantId: string): void;
  /** Milliseconds to wait for another link; null where it may be sent, and is counted. */
  reset(email: string): number | null;
}

export function createMailLimits(clock: Clock): MailLimits {
  const tenants = createWindows(clock, HOUR_MS);
  const invited = createWindows(clock, DAY_MS);
  const resets = createWindows(clock, DAY_MS);

  function requireTenant(tenantId: string): void {
    const wait = waitFor(tenants, tenantId, OF_A_TENANT);
    if (wait !== null) throw tooMuchMail(wait, `An account can have ${OF_A_TENANT} mails sent in an hour.`);
  }

  return {
    invite(tenantId, email) {
      const address = keyOf(email);
      requireTenant(tenantId);
      const wait = waitFor(invited, address, TO_A_STRANGER);
      if (wait !== null) {
        throw tooMuchMail(wait, `${TO_A_STRANGER} invitations went to that address today; no more are sent.`);
      }
      tenants.open(tenantId).count++;
      invited.open(address).count++;
    },
    resend(tenantId) {
      requireTenant(tenantId);
      tenants.open(tenantId).count++;
    },
    reset(email) {
      const address = keyOf(email);
      const wait = waitFor(resets, address, RESETS);
      if (wait === null) resets.open(address).count++;
      return wait;
    },
  };
}

function waitFor(windows: Windows, key: string, limit: number): number | null {
  const window = windows.find(key);
  return window !== null && window.count >= limit ? windows.left(window) : null;
}

function keyOf(email: string): string {
  return email.trim().toLowerCase().slice(0, 254);
}

function tooMuchMail(waitMs: number, detail: string): DomainError {
  const minutes = Math.ceil(waitMs / 60_000);
  return new DomainError('RATE_LIMITED', detail, {
    hint: `Try again in ${minutes === 1 ? 'a minute' : `${minutes} minutes`}.`,
    retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
  });
}
