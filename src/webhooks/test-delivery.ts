import type { NewId } from '../lib/ids.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import type { AttemptRecord, SentEventType } from '../model/delivery.ts';
import { sentHeaders, toBodyBytes } from '../model/delivery.ts';
import { DomainError } from '../model/errors.ts';
import type { EventType } from '../model/event.ts';
import { isPreset } from '../model/payload-shape.ts';
import type { Endpoint } from '../model/webhook.ts';
import { headlineOf } from '../signals/why.ts';
import { sentBody, timingsOf } from './delivery-resource.ts';
import { refusePull } from './endpoint-changes.ts';
import { signerOf } from './endpoint-signer.ts';
import { formattedPayload } from './format.ts';
import { eventEnvelope, signalPayload } from './payload.ts';
import { eventNotice } from './presets/event-notice.ts';
import type { Notice } from './presets/notice.ts';
import { presetBody } from './presets/preset-body.ts';
import { signalNotice } from './presets/signal-notice.ts';
import { EVENT_SAMPLES } from './sample-events.ts';
import { SAMPLE_SIGNAL } from './sample-signal.ts';

/** One test delivery, as the dispatcher is asked to send it: signed and sent like any other, outside every queue. */
export interface TestRequest {
  /** As stored now, paused or not. */
  endpoint: Endpoint;
  /** Its `webhook-id`. No delivery of this id is stored. */
  deliveryId: string;
  /** JSON object without its closing `signature` member, like a stored body. */
  body: string;
  /** Its `X-Event-Type`; `webhook.test` where it is left out. */
  eventType?: SentEventType;
}

/** What came of it; `throttled` where the endpoint's throttle had no room, and nothing was sent. */
export type TestAnswer =
  | { kind: 'sent'; record: AttemptRecord }
  | { kind: 'throttled'; retryAfterMs: number };

/**
 * Sends a test delivery at once: takes a place in the endpoint's throttle, stores that it did (`recordTestSend`) before it
 * sends, and touches neither failure count nor pause. Never rejects for what the receiver does.
 */
export type SendTest = (request: TestRequest) => Promise<TestAnswer>;

/** Replaces the dispatcher where there is none. */
export const refuseTests: SendTest = () =>
  Promise.reject(new DomainError('UNAVAILABLE', 'This process does not send deliveries. Nothing was sent.'));

/** The body of a sample event of one type, as the endpoint would get it, without its signature. */
function sampleBody(
  { tenantId, settings }: Pick<Endpoint, 'tenantId' | 'settings'>,
  type: EventType,
): string {
  const { payload_format: format } = settings;
  if (type === 'signal.detected') return formattedPayload(SAMPLE_SIGNAL, format);
  const data = JSON.stringify(EVENT_SAMPLES[type]);
  if (format !== null && isPreset(format)) return presetBody(format, eventNotice({ type, data }));
  const createdAt = Date.parse(SAMPLE_SIGNAL.timestamp);
  return eventEnvelope({ id: 'evt_test', tenantId, type, subjectId: '', data, createdAt });
}

/**
 * The body of a test delivery without its signature: the `webhook.test` envelope around a sample signal, or the message
 * of the endpoint's service. Nothing in it changes from one test to the next, so that the same secret always makes the
 * same bytes.
 */
function testBody({ tenantId, settings }: Pick<Endpoint, 'tenantId' | 'settings'>): string {
  const { payload_format: format } = settings;
  if (format !== null && isPreset(format)) return presetBody(format, testNotice());
  const head = JSON.stringify({ event: 'webhook.test', tenant_id: tenantId }).slice(0, -1);
  const tail = JSON.stringify({ id: 'evt_test', timestamp: SAMPLE_SIGNAL.timestamp }).slice(1);
  return `${head},"data":${signalPayload(SAMPLE_SIGNAL)},${tail}`;
}

function testNotice(): Notice {
  const notice = signalNotice(SAMPLE_SIGNAL, {
    headline: headlineOf(SAMPLE_SIGNAL.excerpt),
    reason: 'Looking for scheduling software and ready to buy',
    acts: [],
  });
  return { ...notice, title: 'Test delivery from Signalpost', text: `An example. ${notice.title}` };
}

/** The bytes of the endpoint's test delivery and their signature, known before anything is sent. */
export function expectedTest(
  { secretBox }: { secretBox: SecretBox },
  endpoint: Endpoint,
): { body: string; signature: string } {
  const signer = signerOf(secretBox, endpoint);
  const sealed = signer.seal({ id: 'dlv_test', ...toBodyBytes(testBody(endpoint)) }, 0);
  return { body: sealed.body.toString('utf8'), signature: sealed.serviceSignature };
}

/** A test delivery that was sent. */
export interface SentTest {
  deliveryId: string;
  body: string;
  record: AttemptRecord;
}

/** Sends the endpoint its test, or a sample of an event. @throws DomainError `RATE_LIMITED` where the throttle has no room */
export async function testEndpoint(
  parts: { newId: NewId; sendTest: SendTest },
  endpoint: Endpoint,
  event: EventType | null = null,
): Promise<SentTest> {
  refusePull(endpoint, 'tested');
  const body = event === null ? testBody(endpoint) : sampleBody(endpoint, event);
  const deliveryId = parts.newId('dlv');
  const answer = await parts.sendTest({ endpoint, deliveryId, body, eventType: event ?? 'webhook.test' });
  if (answer.kind === 'sent') return { deliveryId, body, record: answer.record };
  const seconds = Math.max(1, Math.ceil(answer.retryAfterMs / 1_000));
  throw new DomainError(
    'RATE_LIMITED',
    `The endpoint has reached its limit of ${endpoint.settings.rate_limit_per_minute} requests per 60 seconds, deliveries included.`,
    { retryAfterSeconds: seconds, hint: `Wait ${seconds} seconds (Retry-After), then test again.` },
  );
}

/** A test as returned to its caller. */
export function testResource({ deliveryId, body, record }: SentTest) {
  const { sent, response, error, durationMs, attempt, startedAt } = record;
  return {
    success: error === null,
    request: {
      headers: sent === null ? {} : sentHeaders({ deliveryId, attempt, startedAt }, sent),
      body: sentBody(record, body),
    },
    response,
    error,
    duration_ms: durationMs,
    timings: timingsOf(record),
  };
}
