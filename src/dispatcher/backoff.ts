import type { WebhookInput } from '../model/webhook.ts';

const HOUR_MS = 3_600_000;
const FIRST_DELAYS_MS = [1_000, 5_000, 30_000];
const GROWTH = 6;
const JITTER = 0.1;

/** What a back-off depends on: the endpoint's own settings. */
export type BackoffSettings = Pick<WebhookInput, 'retry_interval_seconds' | 'backoff'>;

/**
 * Milliseconds to wait before the `retry`-th retry (from 1). Without an interval 1 s, 5 s, 30 s, then six times as long
 * each; with one, `interval × 2^(retry−1)` or, `fixed`, the interval; at most 1 h. The receiver's `Retry-After` is a
 * minimum. `fraction` in [0, 1) adds up to 10 %, so that deliveries that failed together do not return together;
 * nothing is ever taken off.
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

/**
 * `Retry-After` as milliseconds from `now` (RFC 9110 section 10.2.3: seconds or an HTTP date), at most 1 h; null where
 * it is absent or unreadable.
 */
export function readRetryAfter(value: string | string[] | undefined, now: number): number | null {
  const text = (Array.isArray(value) ? value[0] : value)?.trim();
  if (text === undefined || text === '') return null;
  const ms = /^\d+$/.test(text)
    ? Number(text) * 1_000
    : /[a-z]/i.test(text)
      ? Date.parse(text) - now
      : Number.NaN;
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), HOUR_MS);
}
