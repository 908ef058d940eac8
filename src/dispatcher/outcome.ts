import type { DeliveryNext, Outcome } from '../model/delivery.ts';
import type { WebhookInput } from '../model/webhook.ts';
import { retryDelayMs } from './backoff.ts';
import type { SendResult } from './send.ts';

const DEAD_LETTER_MS = 7 * 24 * 3_600_000;

/** Everything that decides where a delivery goes after an attempt. */
export interface Verdict {
  result: Pick<SendResult, 'error' | 'retryAfterMs'>;
  settings: WebhookInput;
  /** Attempts before this one since the delivery became pending. */
  attemptsInCycle: number;
  /** When the attempt ended, Unix milliseconds. */
  now: number;
  /** Chance for the jitter, in [0, 1). */
  fraction: number;
}

/**
 * The dispatcher's part of the delivery state machine (model/delivery.ts has the whole):
 *
 *   pending, retrying ── attempt succeeded ──────────────────────────────→ delivered   streak: reset
 *                     ── failed, `max_retries` not used up ──────────────→ retrying    streak: add
 *                     ── failed, used up, dead letters on (kept 7 days) ─→ dead        streak: add
 *                     ── failed, used up, dead letters off ──────────────→ discarded   streak: add
 *
 * A forbidden target keeps the streak: no request was made, so it says nothing about the receiver's health. Pausing at
 * the 20th failure in a row is the store's, since only the commit knows the order of attempts.
 */
export function decide(verdict: Verdict): Pick<Outcome, 'next' | 'streak'> {
  const { error } = verdict.result;
  if (error === null) return { next: { status: 'delivered' }, streak: 'reset' };
  return { next: afterFailure(verdict), streak: error.code === 'blocked_target' ? 'keep' : 'add' };
}

function afterFailure({ result, settings, attemptsInCycle, now, fraction }: Verdict): DeliveryNext {
  if (attemptsInCycle < settings.max_retries) {
    const delayMs = retryDelayMs(settings, attemptsInCycle + 1, fraction, result.retryAfterMs);
    return { status: 'retrying', at: now + delayMs };
  }
  if (settings.dead_letter) return { status: 'dead', expiresAt: now + DEAD_LETTER_MS };
  return { status: 'discarded' };
}
