import { createHmac, timingSafeEqual } from 'node:crypto';

/** A delivery that is not genuine, or too old; its message says which. Answer it with 400 or 401. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

/** A delivery as it came. */
export interface ReceivedWebhook {
  /** Of any framework: a `Headers` object, or a record with names in any case. */
  headers: Headers | Record<string, string | string[] | undefined>;
  /** The bytes as they came, before any parser: text, or a `Uint8Array`. */
  body: string | Uint8Array;
  /** `whsec_…`; while a secret is being changed, both. */
  secret: string | readonly string[];
  /** How old, or how far ahead, its timestamp may be; 300 where it is left out. */
  toleranceSeconds?: number;
  /** Unix milliseconds; for tests. */
  now?: number;
}

/** A genuine delivery. */
export interface VerifiedWebhook {
  /** `webhook-id`: the same over retries and replays. Keep it for a week and pass repetitions by. */
  id: string;
  /** `X-Event-Type`, such as `signal.detected`. */
  type: string;
  /** The parsed body. */
  payload: Record<string, unknown>;
}

const TOLERANCE_SECONDS = 300;
const PREFIX = 'whsec_';

/**
 * Verifies a delivery by `webhook-signature` (Standard Webhooks), which covers its id and time as well as its bytes.
 * @throws WebhookVerificationError
 */
export function verifyWebhook(received: ReceivedWebhook): VerifiedWebhook {
  const { headers, body, secret, toleranceSeconds = TOLERANCE_SECONDS, now = Date.now() } = received;
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  if (!/^\d{1,12}$/.test(timestamp))
    throw new WebhookVerificationError('webhook-timestamp is missing or no number');
  if (Math.abs(now / 1_000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookVerificationError(`webhook-timestamp is more than ${toleranceSeconds} seconds from now`);
  }
  const bytes = typeof body === 'string' ? Buffer.from(body, 'utf8') : body;
  const sent = headerOf(headers, 'webhook-signature').split(' ');
  const isGenuine = [secret].flat().some((each) => {
    const expected = `v1,${sign(each, `${id}.${timestamp}.`, bytes)}`;
    return sent.some((signature) => isSame(signature, expected));
  });
  if (!isGenuine)
    throw new WebhookVerificationError('no webhook-signature fits the secret and the bytes of the body');
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
