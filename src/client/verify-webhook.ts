import { createHmac, timingSafeEqual } from 'node:crypto';

/** Thrown for a delivery that is not genuine or too old; the message says which. Respond with 400 or 401. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

/** A delivery as received. */
export interface ReceivedWebhook {
  /** Headers from any framework: a `Headers` object, or a record; the case of names does not matter. */
  headers: Headers | Record<string, string | string[] | undefined>;
  /** The raw body, not yet parsed, as text or bytes. */
  body: string | Uint8Array;
  /** The signing secret (`whsec_…`); both secrets during a change of secret. */
  secret: string | readonly string[];
  /** How far the timestamp may be in the past or future, in seconds. Default: 300. */
  toleranceSeconds?: number;
  /** The current time in Unix milliseconds; for tests. */
  now?: number;
}

/** A verified delivery. */
export interface VerifiedWebhook {
  /** `webhook-id`, the same for all retries and replays. Store it for a week and skip repeated deliveries. */
  id: string;
  /** The event type from `X-Event-Type`, such as `signal.detected`. */
  type: string;
  /** The parsed body. */
  payload: Record<string, unknown>;
}

const TOLERANCE_SECONDS = 300;
const PREFIX = 'whsec_';

/**
 * Verifies the `webhook-signature` of a delivery (Standard Webhooks), which covers its ID, timestamp and body.
 * @throws WebhookVerificationError
 */
export function verifyWebhook(received: ReceivedWebhook): VerifiedWebhook {
  const { headers, body, secret, toleranceSeconds = TOLERANCE_SECONDS, now = Date.now() } = received;
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  if (!/^\d{1,12}$/.test(timestamp))
    throw new WebhookVerificationError('webhook-timestamp is missing or not a number');
  if (Math.abs(now / 1_000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookVerificationError(`webhook-timestamp is more than ${toleranceSeconds} seconds from now`);
  }
  const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
  const sent = headerOf(headers, 'webhook-signature').split(' ');
  const isGenuine = [secret].flat().some((each) => {
    const expected = `v1,${sign(each, `${id}.${timestamp}.`, bytes)}`;
    return sent.some((signature) => isSame(signature, expected));
  });
  if (!isGenuine) throw new WebhookVerificationError('no webhook-signature matches the secret and the body');
  const payload = JSON.parse(Buffer.from(bytes).toString('utf8'));
  return { id, type: headerOf(headers, 'x-event-type'), payload };
}

function headerOf(headers: ReceivedWebhook['headers'], name: string): string {
  if (headers instanceof Headers) return headers.get(name) ?? '';
  const found = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  return (Array.isArray(found) ? found[0] : found) ?? '';
}

function sign(secret: string, head: string, bytes: Uint8Array): string {
  const key = Buffer.from(secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret, 'base64');
  return createHmac('sha256', key).update(head).update(bytes).digest('base64');
}

function isSame(sent: string, expected: string): boolean {
  const a = Buffer.from(sent);
  const b = Buffer.from(expected);
  return a.length === b.length && timingSafeEqual(a, b);
}
