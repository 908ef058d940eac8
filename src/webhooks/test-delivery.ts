import { effectivePlan } from '../accounts/plans.ts';
import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { type AttemptRecord, type SentEventType, sentHeaders, toBodyBytes } from '../model/delivery.ts';
import { DomainError } from '../model/errors.ts';
import type { EventType } from '../model/event.ts';
import { isPreset, type PayloadFormat } from '../model/payload-shape.ts';
import type { Signal } from '../model/signal.ts';
import type { Tenant } from '../model/tenant.ts';
import type { Endpoint } from '../model/webhook.ts';
import { headlineOf, whereOf } from '../signals/why.ts';
import type { Store } from '../store/store.ts';
import { sentBody, timingsOf } from './deliveries.ts';
import { refuseFormat, refusePull } from './endpoints.ts';
import { eventNotice, type Notice, signalNotice } from './notice.ts';
import { eventEnvelope, formattedPayload, presetMessage, signalPayload } from './payload.ts';
import { signerOf } from './signature.ts';

/**
 * The signal of test deliveries, and of previews for tenants without signals. Every byte is fixed, so that
 * the signature of a test delivery is known before it is sent. Its domains are reserved for examples (RFC
 * 2606).
 */
export const SAMPLE_SIGNAL: Signal = {
  signal_id: 'sig_sample',
  signal_type: 'intent_post',
  classification: 'hot',
  icp_score: 86,
  timestamp: '2026-01-01T09:00:00.000Z',
  prospect: {
    name: 'Dana Example',
    title: 'Operations Manager',
    email: 'dana@example.com',
    linkedin_url: 'https://www.linkedin.com/in/dana-example',
  },
  company: {
    name: 'Example Heating & Air',
    domain: 'example.com',
    industry: 'HVAC',
    headcount: '11-50',
    location: 'Columbus, Ohio',
  },
  platform: {
    name: 'reddit',
    post_url: 'https://www.reddit.com/r/hvac/comments/example',
    posted_at: '2026-01-01T08:55:00.000Z',
  },
  excerpt: 'Looking for scheduling software for our 12 vans, budget approved, want to decide this month.',
  icp_profile_name: 'Default',
  profile_url: 'https://example.com/dashboard/signals/sig_sample',
  icp_profile_id: 'icp_sample',
  external_id: null,
  lead_id: null,
};

const AT = '2026-01-01T09:00:00.000Z';
const ACTOR = { id: 'key_1', name: 'CRM' };

const LEAD = {
  ...{ id: 'led_1', name: 'Dana *Example*', first_name: 'Dana', last_name: 'Example' },
  ...{ email: 'dana@example.com', linkedin_url: '', title: '', seniority: '', department: '' },
  ...{ company: SAMPLE_SIGNAL.company, source: 'reddit', stage: 'contacted', stage_changed_at: AT },
  ...{ icp_score: 86, classification: 'hot', signal_count: 1, last_signal_at: AT, tags: [] },
  ...{ owner: '', notes: '', next_step: null },
  ...{ custom_fields: {}, deal: null, provenance: {}, enriched_at: AT, created_at: AT, updated_at: AT },
};
const DEAL = { amount_minor: 120_000, currency: 'USD', status: 'won', close_date: null };

const { signal_id, classification, icp_score, excerpt, company, profile_url } = SAMPLE_SIGNAL;
const DIGEST_SIGNAL = { signal_id, classification, icp_score, excerpt, company, profile_url };

/** `data` of a sample event of each type, for test deliveries. */
export const EVENT_SAMPLES: Record<EventType, object> = {
  'signal.detected': { signal_id },
  'signal.new_hot': {
    ...{ platform: 'reddit', score: 'hot', lead_name: 'Dana', signal_text: excerpt, signal_id },
  },
  'lead.created': { lead_id: 'led_1', previous: null, current: LEAD },
  'lead.enriched': { lead_id: 'led_1', previous: null, current: LEAD },
  'pipeline.stage_changed': {
    ...{
      lead_id: 'led_1',
      previous: 'new',
      current: 'contacted',
      reason: 'called',
      actor: ACTOR,
      lead: LEAD,
    },
  },
  'campaign.status_changed': {
    ...{ campaign_id: 'cam_1', campaign_name: 'Spring', previous: 'draft', current: 'active' },
  },
  'digest.ready': {
    ...{ date: '2026-01-01', timezone: 'America/New_York', counts: { hot: 1, warm: 0 } },
    signals: [DIGEST_SIGNAL],
    url: 'https://example.com/dashboard/signals?state=all&classification=hot,warm&from=2025-12-31T14:00:00.000Z',
  },
  'reply.classified': {
    ...{ campaign_id: 'cam_1', campaign_name: 'Spring', event_id: 'r1', lead_id: '', email: 'x@example.com' },
    ...{ step: 1, reply_class: 'not_now', auto: false, occurred_at: AT, previous: null, current: 'not_now' },
  },
  'endpoint.failing': {
    ...{ endpoint_id: 'whk_1', label: 'CRM', host: 'crm.example.com', consecutive_failures: 10 },
    ...{ pauses_at: 20, previous: 'active', current: 'failing' },
  },
  'endpoint.paused': {
    ...{ endpoint_id: 'whk_1', label: '', host: 'crm.example.com', reason: 'failures' },
    ...{ consecutive_failures: 20, previous: 'failing', current: 'paused' },
  },
  'endpoint.recovered': {
    ...{ endpoint_id: 'whk_1', label: 'CRM', host: 'crm.example.com', previous: 'paused', current: 'active' },
  },
  'delivery.dead': {
    ...{ delivery_id: 'dlv_1', endpoint_id: 'whk_1', label: 'CRM', host: 'crm.example.com' },
    ...{ event: 'signal.detected', event_id: 'evt_1', subject_id: 'sig_1', attempt_count: 4, expires_at: AT },
  },
  'deal.changed': { lead_id: 'led_1', previous: null, current: DEAL, actor: ACTOR, lead: LEAD },
};

/** A test delivery for the dispatcher: signed and sent like any other, outside every queue. */
export interface TestRequest {
  /** As stored now, paused or not. */
  endpoint: Endpoint;
  /** Its `webhook-id`. No delivery with this ID is stored. */
  deliveryId: string;
  /** A JSON object without its closing `signature` member, like a stored body. */
  body: string;
  /** Its `X-Event-Type`; `webhook.test` if omitted. */
  eventType?: SentEventType;
}

/** The result; `throttled` if the endpoint's rate limit is reached, and nothing was sent. */
export type TestAnswer =
  | { kind: 'sent'; record: AttemptRecord }
  | { kind: 'throttled'; retryAfterMs: number };

/**
 * Sends a test delivery immediately: counts it towards the endpoint's rate limit, stores that
 * (`recordTestSend`) before sending, and affects neither failure count nor pause. Never rejects because of
 * the receiver.
 */
export type SendTest = (request: TestRequest) => Promise<TestAnswer>;

/** The replacement in processes without a dispatcher. */
export const refuseTests: SendTest = () =>
  Promise.reject(new DomainError('UNAVAILABLE', 'This process does not send deliveries. Nothing was sent.'));

/** The body of a sample event of one type in the endpoint's format, without its signature. */
function sampleBody(
  { tenantId, settings }: Pick<Endpoint, 'tenantId' | 'settings'>,
  type: EventType,
): string {
  const { payload_format: format } = settings;
  if (type === 'signal.detected') return formattedPayload(SAMPLE_SIGNAL, format);
  const data = JSON.stringify(EVENT_SAMPLES[type]);
  if (format !== null && isPreset(format)) return presetMessage(format, eventNotice({ type, data }));
  const createdAt = Date.parse(SAMPLE_SIGNAL.timestamp);
  return eventEnvelope({ id: 'evt_test', tenantId, type, subjectId: '', data, createdAt });
}

/**
 * The body of a test delivery without its signature: the `webhook.test` envelope around a sample signal, or a
 * message for the endpoint's service. It is the same for every test, so that the same secret always gives the
 * same bytes.
 */
function testBody({ tenantId, settings }: Pick<Endpoint, 'tenantId' | 'settings'>): string {
  const { payload_format: format } = settings;
  if (format !== null && isPreset(format)) return presetMessage(format, testNotice());
  const head = JSON.stringify({ event: 'webhook.test', tenant_id: tenantId }).slice(0, -1);
  const tail = JSON.stringify({ id: 'evt_test', timestamp: SAMPLE_SIGNAL.timestamp }).slice(1);
  return `${head},"data":${signalPayload(SAMPLE_SIGNAL)},${tail}`;
}

function testNotice(): Notice {
  const notice = signalNotice(SAMPLE_SIGNAL, {
    headline: headlineOf(SAMPLE_SIGNAL.excerpt),
    where: whereOf(SAMPLE_SIGNAL.platform),
    reason: 'Looking for scheduling software and ready to buy',
    acts: [],
  });
  return { ...notice, title: 'Test delivery from Signalpost', text: `An example. ${notice.title}` };
}

/** The bytes of the endpoint's test delivery and their signature, known before it is sent. */
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

/**
 * Sends a test or a sample event to the endpoint. @throws DomainError `RATE_LIMITED` if its rate limit is
 * reached
 */
export async function testEndpoint(
  deps: { newId: NewId; sendTest: SendTest },
  endpoint: Endpoint,
  event: EventType | null = null,
): Promise<SentTest> {
  refusePull(endpoint, 'tested');
  const body = event === null ? testBody(endpoint) : sampleBody(endpoint, event);
  const deliveryId = deps.newId('dlv');
  const answer = await deps.sendTest({ endpoint, deliveryId, body, eventType: event ?? 'webhook.test' });
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

/** Number of bodies in a preview of recent signals. */
const SHOWN = 3;

/**
 * The bodies in a format, without signatures. `sample`: of a made-up signal, because the tenant has none yet.
 */
export interface FormatPreview {
  bodies: Record<string, unknown>[];
  sample: boolean;
}

/**
 * Previews a format with one signal, or with the newest ones.
 * @throws DomainError `NOT_FOUND` (signal), `PLAN_REQUIRED` if the plan only includes the standard payload
 */
export async function previewFormat(
  { store, clock }: { store: Store; clock: Clock },
  tenant: Tenant,
  input: { format: PayloadFormat | null; signalId: string | null },
): Promise<FormatPreview> {
  refuseFormat(effectivePlan(tenant, clock.now()), input.format);
  const signals = await signalsFor(store, tenant.id, input.signalId);
  const shown = signals.length === 0 ? [SAMPLE_SIGNAL] : signals;
  return {
    bodies: shown.map((signal) => JSON.parse(formattedPayload(signal, input.format))),
    sample: signals.length === 0,
  };
}

async function signalsFor(store: Store, tenantId: string, signalId: string | null): Promise<Signal[]> {
  if (signalId === null) {
    const wires = await store.recentSignals(tenantId, SHOWN);
    return wires.map((wire) => JSON.parse(wire));
  }
  const found = await store.getSignal(tenantId, signalId);
  if (found === null) throw new DomainError('NOT_FOUND', `There is no signal "${signalId}".`);
  return [JSON.parse(found.wire)];
}
