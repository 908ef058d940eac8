import type { Clock } from '../lib/clock.ts';
import { toBodyBytes } from '../model/body-bytes.ts';
import type { SentEventType } from '../model/delivery.ts';
import { deliveryHeaders, timestampSeconds } from '../model/delivery-headers.ts';
import { createSigner } from '../webhooks/signature.ts';
import type { FeedEvent } from './feed.ts';
import { fetchText, NetworkError } from './request.ts';

const TIMEOUT_MS = 30_000;
const FIRST_WAIT_MS = 1_000;
const MOST_WAIT_MS = 10_000;

/**
 * Posts an event of a feed to an address, signed as a delivery is, and returns the status that came back. Where nothing
 * answers there it is tried again until something does, or `isStopping`: then null.
 */
export async function forward(
  clock: Clock,
  event: FeedEvent,
  { url, secret, isStopping, onFault }: ForwardTerms,
): Promise<number | null> {
  const { signature: _signature, ...payload } = event.payload;
  const body = toBodyBytes(JSON.stringify(payload));
  for (let attempt = 1; !isStopping(); attempt++) {
    const startedAt = clock.now();
    const sealed = createSigner(secret).seal({ id: event.id, ...body }, timestampSeconds(startedAt));
    const key = { deliveryId: event.id, attempt, startedAt };
    const headers = deliveryHeaders(key, { ...sealed, eventType: event.type as SentEventType });
    try {
      const text = sealed.body.toString('utf8');
      const answer = await fetchText(clock, {
        url,
        method: 'POST',
        headers,
        body: text,
        timeoutMs: TIMEOUT_MS,
      });
      return answer.status;
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      if (attempt === 1) onFault(`${error.message}; waiting for it`);
      const waitMs = Math.min(FIRST_WAIT_MS * attempt, MOST_WAIT_MS);
      await new Promise<void>((resolve) => clock.after(waitMs, resolve));
    }
  }
  return null;
}

interface ForwardTerms {
  url: string;
  secret: string;
  isStopping(): boolean;
  onFault(text: string): void;
}
