import { HOUR_MS } from '../lib/clock.ts';
import type { DeliveryNext, Outcome } from '../model/delivery.ts';
import type { EndpointMode, WebhookInput } from '../model/webhook.ts';
import { DEAD_LETTER_MS, endUndelivered } from '../rules/deliveries.ts';
import type { SendResult } from './send.ts';

/** RFC 9110, section 15.5.11. */
const GONE = 410;
/**
 * RFC 9110, section 15.5.14. To an MCP client, whose receiver limits the size, the event is not sent again.
 */
const TOO_LARGE = 413;

/** Everything that the next state of a delivery depends on. */
export interface AttemptEnd {
  result: Pick<SendResult, 'error' | 'response' | 'retryAfterMs'>;
  settings: WebhookInput;
  mode: EndpointMode;
  /** Number of earlier attempts since the delivery became pending. */
  attemptsInCycle: number;
  /** When the attempt ended, Unix milliseconds. */
  now: number;
  /** Random number for the jitter, in [0, 1). */
  fraction: number;
  /** Whether this is a probe of a paused endpoint. */
  probe: boolean;
}

/**
 * The dispatcher's part of the delivery state machine (model/delivery.ts has all of it):
 *
 *   pending, retrying ── attempt succeeded ────────────────────────────────→ delivered   streak: reset
 *                     ── failed, `max_retries` not used up ────────────────→ retrying    streak: add
 *                     ── failed, used up, dead letters on (kept 7 days) ───→ dead        streak: add
 *                     ── failed, used up, dead letters off ────────────────→ discarded   streak: add
 *                     ── could not be prepared (`internal`) ───────────────→ dead or discarded at once; streak: keep
 *
 * A forbidden target keeps the streak: no request was made, so it says nothing about the receiver's health.
 * Pausing at the 20th consecutive failure (`rules/endpoints.ts`) is decided in the commit, which alone knows
 * the order of attempts.
 *
 * A failed probe uses up no retry of its delivery: a long outage must not use up the deliveries held because
 * of it. The delivery moves to the end of the queue, so that one that the receiver always rejects does not
 * block the others.
 */
export function decide(end: AttemptEnd): Pick<Outcome, 'next' | 'streak' | 'gone'> {
  const { error, response } = end.result;
  const isTooLarge = end.mode === 'mcp' && response?.status === TOO_LARGE;
  if (error === null) return { next: { status: 'delivered' }, streak: 'reset', gone: false };
  const faultless = error.code === 'blocked_target' || error.code === 'internal';
  return {
    next: afterFailure(end, error.code === 'internal' || isTooLarge),
    streak: faultless || isTooLarge ? 'keep' : 'add',
    gone: response?.status === GONE,
  };
}

function afterFailure(end: AttemptEnd, poison: boolean): DeliveryNext {
  const { result, settings, attemptsInCycle, now, fraction, probe } = end;
  if (!poison && (probe || attemptsInCycle < settings.max_retries)) {
    const delayMs = retryDelayMs(settings, attemptsInCycle + 1, fraction, result.retryAfterMs);
    return { status: 'retrying', at: now + delayMs };
  }
  return endUndelivered(settings.dead_letter, now + DEAD_LETTER_MS);
}

const FIRST_DELAYS_MS = [1_000, 5_000, 30_000];
const GROWTH = 6;
const JITTER = 0.1;

/** The endpoint settings that the back-off depends on. */
export type BackoffSettings = Pick<WebhookInput, 'retry_interval_seconds' | 'backoff'>;

/**
 * Milliseconds to wait before the `retry`-th retry (from 1). Without an interval: 1 s, 5 s, 30 s, then six
 * times as long each. With an interval: `interval × 2^(retry−1)` or, if `fixed`, the interval. At most 1 h.
 * The receiver's `Retry-After` is a minimum. `fraction` in [0, 1) adds up to 10 %, so that deliveries that
 * failed together are not retried together; the delay is never shortened.
 */
export function retryDelayMs(
  settings: BackoffSettings,
  retry: number,
  fraction: number,
  retryAfterMs: number | null,
): number {
  const base = Math.max(plainDelayMs(settings, retry), Math.min(retryAfterMs ?? 0, HOUR_MS));
  return Math.ceil(base * (1 + JITTER * fraction));
}

function plainDelayMs({ retry_interval_seconds: interval, backoff }: BackoffSettings, retry: number): number {
  if (interval !== null) {
    const factor = backoff === 'fixed' ? 1 : 2 ** (retry - 1);
    return Math.min(interval * 1_000 * factor, HOUR_MS);
  }
  const known = FIRST_DELAYS_MS[retry - 1];
  return known ?? Math.min(30_000 * GROWTH ** (retry - FIRST_DELAYS_MS.length), HOUR_MS);
}
