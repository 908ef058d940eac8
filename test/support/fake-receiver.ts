import type { AttemptRecord } from '../../src/model/delivery.ts';
import { toBodyBytes } from '../../src/model/delivery.ts';
import { createSigner, type SignedBody } from '../../src/webhooks/signature.ts';
import type { SendTest } from '../../src/webhooks/test-delivery.ts';
import type { TestApp } from './app.ts';

const HOST = '127.0.0.1:8443';
const TOOK_MS = 84;
/** Unix seconds. */
const SIGNED_AT = 1_767_225_600;
const DEAD_LETTER_MS = 7 * 86_400_000;

/** The response of a simulated receiver. */
export type FakeReply = 'success' | 'failure';

/** A test delivery that always succeeds in the same way. */
export const sendTestToNobody: SendTest = async ({ deliveryId, body, endpoint }) => ({
  kind: 'sent',
  record: attemptOf(
    { id: deliveryId, attempt: 1 },
    createSigner(`whsec_${endpoint.id}`).seal({ id: deliveryId, ...toBodyBytes(body) }, SIGNED_AT),
    { reply: 'success', startedAt: endpoint.createdAt },
  ),
});

/**
 * Simulates the dispatcher for one endpoint without a socket: claims due deliveries, signs them, and stores the
 * outcome of `reply`. Returns the bodies as they would be sent. `replyText` replaces the body of the response.
 */
export async function deliverToNobody(
  { store, clock }: Pick<TestApp, 'store' | 'clock'>,
  {
    endpointId,
    secret,
    reply,
    replyText,
  }: { endpointId: string; secret: string; reply: FakeReply; replyText?: string },
): Promise<string[]> {
  const now = clock.now();
  const lanes = [{ endpointId, limit: 100, knownVersion: -1, held: [] }];
  const [claim] = await store.claimDeliveries({
    lanes,
    now,
    leaseUntil: now + 60_000,
    leaseToken: 'lease_1',
  });
  const bodies: string[] = [];
  for (const delivery of claim?.deliveries ?? []) {
    const { id, attempt } = delivery;
    const signed = createSigner(secret).seal(delivery, SIGNED_AT);
    bodies.push(signed.body.toString('utf8'));
    await store.recordOutcome({
      deliveryId: id,
      endpointId,
      attempt: attemptOf({ id, attempt }, signed, {
        ...{ reply, startedAt: now },
        ...(replyText !== undefined && { replyText }),
      }),
      next:
        reply === 'success' ? { status: 'delivered' } : { status: 'dead', expiresAt: now + DEAD_LETTER_MS },
      streak: reply === 'success' ? 'reset' : 'add',
      at: now,
      gone: false,
      probe: false,
    });
  }
  await store.releaseLeases('lease_1');
  return bodies;
}

function attemptOf(
  { id, attempt }: { id: string; attempt: number },
  { body, ...signatures }: SignedBody,
  { reply, replyText, startedAt }: { reply: FakeReply; replyText?: string; startedAt: number },
): AttemptRecord {
  const succeeded = reply === 'success';
  return {
    id: `att_${id.slice(4, 13)}${attempt}${id.slice(14)}`,
    attempt,
    startedAt,
    durationMs: TOOK_MS,
    sent: { host: HOST, contentLength: body.length, ...signatures },
    response: {
      status: succeeded ? 200 : 503,
      headers: { 'content-type': 'text/plain', ...(replyText !== undefined && { 'x-note': replyText }) },
      body: replyText ?? (succeeded ? 'ok' : 'maintenance'),
    },
    error: succeeded ? null : { code: 'http_status', message: 'The receiver answered 503.' },
    timings: { connectedMs: 12, headersMs: TOOK_MS - 2 },
  };
}
