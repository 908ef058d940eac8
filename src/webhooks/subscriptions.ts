import { createHash, timingSafeEqual } from 'node:crypto';
import { type Clock, DAY_MS, MINUTE_MS, toIso } from '../lib/clock.ts';
import type { Cursors } from '../lib/cursor.ts';
import { canonicalJson } from '../lib/json.ts';
import { parseUrl } from '../lib/text.ts';
import { createWindows } from '../lib/windows.ts';
import { createYielder, eachInTurns } from '../lib/yielding.ts';
import { ERASED_DATA } from '../model/constants.ts';
import type { AttemptErrorCode } from '../model/delivery.ts';
import { DomainError } from '../model/errors.ts';
import type { EventRow } from '../model/event.ts';
import type { DigestData } from '../model/event-resource.ts';
import type { ApiKey } from '../model/key.ts';
import {
  EventRefusal,
  MAX_SUBSCRIPTIONS,
  MCP_EVENTS,
  type McpEventArguments,
  type McpEventName,
  type McpSubscription,
} from '../model/mcp.ts';
import type { Signal } from '../model/signal.ts';
import type { Tenant } from '../model/tenant.ts';
import { type Endpoint, type WebhookInput, webhookInputSchema } from '../model/webhook.ts';
import { changeUntilItHolds } from '../store/change-until-it-holds.ts';
import type { SubscribedEndpoint } from '../store/endpoint-store.ts';
import type { Store } from '../store/store.ts';
import { acceptSettings, type EndpointDeps, sealHeaders } from './endpoints.ts';
import { fits, type SignalFacts, signalsOfLead } from './fan-out.ts';
import { type Occurrence, occurrenceData } from './payload.ts';
import { readSmallPage } from './small-pages.ts';
import type { SendTest } from './test-delivery.ts';

/**
 * Maximum number of challenges per account and minute, to any URL: each is a request to a URL whose owner has
 * not agreed yet.
 */
const MOST_CHALLENGES = 60;

/** Wraps `sendTest` for challenges, limited to {@link MOST_CHALLENGES} per account. */
export function limitChallenges(sendTest: SendTest, clock: Clock): SendTest {
  const windows = createWindows(clock, MINUTE_MS);
  return async (request) => {
    const window = windows.open(request.endpoint.tenantId);
    if (window.count >= MOST_CHALLENGES) return { kind: 'throttled', retryAfterMs: windows.left(window) };
    window.count++;
    return sendTest(request);
  };
}

/** Dependencies of subscriptions. */
export interface SubscriptionDeps extends EndpointDeps {
  sendTest: SendTest;
}

/** A client's request, with validated arguments. */
export interface SubscriptionRequest {
  name: McpEventName;
  arguments: McpEventArguments;
  url: string;
  /** Chosen by the client: `whsec_` and the base64 of 24 to 64 bytes. */
  secret: string;
  /** Lifetime unless it is renewed. */
  ttlMs: number;
}

/** A subscription as returned to its client. */
export interface SubscriptionState {
  id: string;
  refreshBefore: string;
  /** Whether deliveries were active until now; null for a new subscription. */
  wasActive: boolean | null;
}

const CHALLENGE_BYTES = 32;
const CHALLENGE_SECONDS = 10;
/** How long a replaced secret still signs, together with the new one. */
const SECRET_GRACE_MS = DAY_MS;
/** After 30, 60 and 120 seconds. */
const RETRIES = { max_retries: 3, retry_interval_seconds: 30, backoff: 'exponential' } as const;
/** A thousand deliveries may be discarded with each. */
const ENDED_AT_ONCE = 5;

/**
 * Subscribes a key to an event, or renews an existing subscription to the same event, arguments and URL. For
 * a new subscription, and for a new secret, the receiver must answer a signed challenge first.
 * @throws EventRefusal
 */
export async function subscribe(
  deps: SubscriptionDeps,
  { key, tenant }: { key: ApiKey; tenant: Tenant },
  request: SubscriptionRequest,
): Promise<SubscriptionState> {
  const settings = await settingsOf(deps, tenant, request);
  const id = subscriptionId(key.id, { ...request, url: settings.url });
  return changeUntilItHolds('subscription', async () => {
    const now = deps.clock.now();
    const known = await findLive(deps.store, { tenantId: tenant.id, keyId: key.id, id, now });
    // It ends with its key or access token at the latest.
    const expiresAt = Math.min(now + request.ttlMs, key.expiresAt ?? Number.POSITIVE_INFINITY);
    const state = { id, refreshBefore: toIso(expiresAt) };
    if (known === null) {
      const made = make(deps, { id, keyId: key.id, tenantId: tenant.id, settings, request, expiresAt });
      await challenge(deps, made.endpoint);
      const outcome = await deps.store.createSubscription(made, MAX_SUBSCRIPTIONS);
      if (outcome === 'duplicate') return null;
      if (outcome !== 'created') throw exhausted(outcome);
      return { ...state, wasActive: null };
    }
    const endpoint = withSecret(deps, known.endpoint, request.secret);
    if (endpoint !== known.endpoint) await challenge(deps, endpoint);
    // If it was paused, waiting deliveries are due at `createdAt`.
    const subscription = { ...known.subscription, expiresAt, createdAt: now };
    if (!(await deps.store.renewSubscription({ subscription, endpoint }))) return null;
    return { ...state, wasActive: known.endpoint.status === 'active' };
  });
}

/** Returns a subscription; null if it is over. It is then removed, so that a new one starts from scratch. */
async function findLive(
  store: Store,
  { tenantId, keyId, id, now }: { tenantId: string; keyId: string; id: string; now: number },
): Promise<SubscribedEndpoint | null> {
  const known = await store.findSubscription(tenantId, id);
  if (known === null) return null;
  const { subscription, endpoint } = known;
  if (subscription.expiresAt > now && endpoint.pausedReason !== 'gone') return known;
  await store.endSubscription(tenantId, keyId, id, now);
  return null;
}

/** Ends a subscription of a key; does nothing if there is none. */
export async function unsubscribe(
  deps: Pick<SubscriptionDeps, 'store' | 'clock'>,
  { key, tenant }: { key: ApiKey; tenant: Tenant },
  of: { id: string } | Pick<SubscriptionRequest, 'name' | 'arguments' | 'url'>,
): Promise<void> {
  const id = 'id' in of ? of.id : subscriptionId(key.id, { ...of, url: normalUrl(of.url) });
  await deps.store.endSubscription(tenant.id, key.id, id, deps.clock.now());
}

/**
 * Ends subscriptions that expired, whose key expired or was revoked, or whose receiver responded with 410.
 */
export async function endSubscriptions(
  deps: Pick<SubscriptionDeps, 'store' | 'clock'>,
  isStopping: () => boolean = () => false,
): Promise<void> {
  let ended: string[];
  do {
    ended = await deps.store.endSubscriptions(deps.clock.now(), ENDED_AT_ONCE);
  } while (ended.length === ENDED_AT_ONCE && !isStopping());
}

/** The ID depends only on the request and the key, so a client needs no state to renew. */
function subscriptionId(
  principal: string,
  { name, arguments: args, url }: Pick<SubscriptionRequest, 'name' | 'arguments' | 'url'>,
): string {
  const identity = canonicalJson({ arguments: args, name, principal, url });
  return `sub_${createHash('sha256').update(identity).digest('hex').slice(0, 32)}`;
}

function normalUrl(url: string): string {
  return parseUrl(url)?.href ?? url;
}

/** The endpoint's settings, checked like those of every endpoint. */
async function settingsOf(
  deps: SubscriptionDeps,
  tenant: Tenant,
  { name, arguments: args, url }: SubscriptionRequest,
): Promise<WebhookInput> {
  const settings = webhookInputSchema.parse({
    url,
    label: name,
    event_types: [MCP_EVENTS[name].type],
    icp_profile_ids: args.icp_profile_id === undefined ? [] : [args.icp_profile_id],
    min_score: args.min_score ?? 0,
    ...RETRIES,
    timeout_seconds: CHALLENGE_SECONDS,
    dead_letter: false,
  });
  try {
    return await acceptSettings(deps, tenant, { mode: 'mcp', settings });
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'INVALID_REQUEST') throw error;
    const [fault] = error.extra.errors ?? [];
    const field = fault?.pointer === '/url' ? 'delivery.url' : 'arguments.icp_profile_id';
    throw new EventRefusal('InvalidParams', fault?.detail ?? error.message, { field });
  }
}

function make(
  deps: SubscriptionDeps,
  {
    id,
    keyId,
    tenantId,
    settings,
    request: { name, secret },
    expiresAt,
  }: {
    id: string;
    keyId: string;
    tenantId: string;
    settings: WebhookInput;
    request: SubscriptionRequest;
    expiresAt: number;
  },
): SubscribedEndpoint {
  const createdAt = deps.clock.now();
  const endpointId = deps.newId('whk');
  const subscription: McpSubscription = { id, tenantId, keyId, endpointId, name, expiresAt, createdAt };
  const endpoint: Endpoint = {
    id: endpointId,
    tenantId,
    mode: 'mcp',
    ordered: false,
    settings,
    secretBox: deps.secretBox.seal(secret, endpointId),
    secretLast4: secret.slice(-4),
    previousSecretBox: null,
    previousSecretUntil: null,
    ...sealHeaders(deps, endpointId, { 'X-MCP-Subscription-Id': id }),
    status: 'active',
    pausedReason: null,
    pausedAt: null,
    consecutiveFailures: 0,
    alarm: 'none',
    backfillFrom: null,
    version: 1,
    createdAt,
  };
  return { subscription, endpoint };
}

/**
 * The endpoint with the client's secret; the previous one still signs during a grace period. The same object
 * if the secret is unchanged.
 */
function withSecret({ secretBox, clock }: SubscriptionDeps, endpoint: Endpoint, secret: string): Endpoint {
  const { id } = endpoint;
  if (secretBox.open(endpoint.secretBox, id) === secret) return endpoint;
  return {
    ...endpoint,
    secretBox: secretBox.seal(secret, id),
    secretLast4: secret.slice(-4),
    previousSecretBox: endpoint.secretBox,
    previousSecretUntil: clock.now() + SECRET_GRACE_MS,
  };
}

/**
 * Checks that the owner of a URL wants deliveries: anyone can provide a URL, but only its owner can echo the
 * challenge. It is sent by the dispatcher, under the rules for targets and rate limits. @throws EventRefusal
 */
async function challenge({ random, newId, sendTest }: SubscriptionDeps, endpoint: Endpoint): Promise<void> {
  const expected = random.bytes(CHALLENGE_BYTES).toString('base64url');
  const body = JSON.stringify({ type: 'verification', challenge: expected });
  const deliveryId = newId('msg_verification');
  const answer = await sendTest({ endpoint, deliveryId, body });
  if (answer.kind === 'throttled') {
    const retryAfterMs = Math.ceil(answer.retryAfterMs);
    throw new EventRefusal('ResourceExhausted', 'The callback URL was challenged too often.', {
      limit: 'verification_rate',
      retryAfterMs,
    });
  }
  const { error, response } = answer.record;
  const reason =
    error !== null
      ? reasonOf(error.code, response?.status ?? null)
      : isEcho(response?.body ?? '', expected)
        ? null
        : 'challenge_failed';
  if (reason === null) return;
  const message = `The callback URL did not answer the challenge within ${CHALLENGE_SECONDS} s: ${reason}.`;
  throw new EventRefusal('CallbackEndpointError', message, { reason });
}

function isEcho(text: string, expected: string): boolean {
  try {
    const { challenge: echoed }: { challenge?: unknown } = JSON.parse(text) ?? {};
    const [sent, came] = [Buffer.from(expected), Buffer.from(String(echoed))];
    return sent.length === came.length && timingSafeEqual(sent, came);
  } catch {
    return false;
  }
}

/** Maps errors to the categories of SEP-3415, which reveal nothing about the response. */
function reasonOf(code: AttemptErrorCode, status: number | null): string {
  if (status !== null) return status >= 500 ? 'http_5xx' : 'http_4xx';
  if (code === 'timeout') return 'timeout';
  if (code === 'tls') return 'tls_error';
  return code === 'blocked_target' ? 'address_not_allowed' : 'connection_refused';
}

function exhausted(limit: 'key_limit' | 'tenant_limit'): EventRefusal {
  const [most, whose, name] =
    limit === 'key_limit'
      ? [MAX_SUBSCRIPTIONS.ofKey, 'A key', 'principal_subscriptions']
      : [MAX_SUBSCRIPTIONS.ofTenant, 'An account', 'subscriptions'];
  return new EventRefusal('ResourceExhausted', `${whose} has at most ${most} subscriptions.`, {
    limit: name,
  });
}

/** How far back polling goes. */
const REACH_MS = 7 * DAY_MS;
const POLL_AGAIN_MS = 15_000;

/** A client's request for occurrences. */
export interface PollRequest {
  name: McpEventName;
  arguments: McpEventArguments;
  /** Null: from now on. */
  cursor: string | null;
  limit: number;
}

export interface PollAnswer {
  events: Occurrence[];
  cursor: string;
  /** Whether the cursor was older than the retention period, so that events were skipped. */
  truncated: boolean;
  hasMore: boolean;
  nextPollMs: number;
}

/**
 * Returns the events since a cursor, in commit order. @throws EventRefusal if the cursor is from a different
 * request
 */
export async function pollOccurrences(
  { store, clock, cursors }: { store: Store; clock: Clock; cursors: Cursors },
  tenantId: string,
  { name, arguments: args, cursor, limit }: PollRequest,
): Promise<PollAnswer> {
  const scope = JSON.stringify(['mcp events', tenantId, name, args]);
  const now = clock.now();
  const answer = (position: number, rest: Partial<PollAnswer> = {}): PollAnswer => ({
    ...{ events: [], cursor: cursors.encode(scope, [position, now]), truncated: false, hasMore: false },
    ...{ nextPollMs: rest.hasMore ? 0 : POLL_AGAIN_MS, ...rest },
  });
  if (cursor === null) return answer(await store.storedPosition(tenantId));
  const [position, at] = (cursors.decode(scope, cursor) as [number, number] | null) ?? [];
  if (position === undefined || at === undefined) {
    const detail =
      'The cursor is damaged, or was made for another event, other arguments or another account.';
    throw new EventRefusal('InvalidParams', detail, { field: 'cursor' });
  }
  // The response is serialized in one piece, which took 0.5 s for fifty large leads.
  const { page } = await readSmallPage(
    (most) =>
      store.listStoredEvents(tenantId, {
        ...{ types: [MCP_EVENTS[name].type], from: now - REACH_MS, to: null },
        ...{ limit: most, after: [position] },
      }),
    limit,
  );
  const next = Number(page.next[0]);
  const nextTurn = createYielder(clock);
  const events: Occurrence[] = [];
  for (const row of page.rows) {
    const occurrence = await occurrenceOf(store, row, { name, args });
    if (occurrence !== null) events.push({ ...occurrence, cursor: null });
    await nextTurn();
  }
  return answer(next, { events, truncated: at < now - REACH_MS, hasMore: page.hasMore });
}

/** Converts an event to an occurrence; null if it does not match the arguments, or was erased. */
async function occurrenceOf(
  store: Store,
  event: EventRow,
  { name, args }: { name: McpEventName; args: McpEventArguments },
): Promise<Omit<Occurrence, 'cursor'> | null> {
  if (event.data === ERASED_DATA) return null;
  const ofSignal = event.type === 'signal.detected' || event.type === 'signal.new_hot';
  const signal = ofSignal ? await findSignal(store, event) : null;
  if (ofSignal && signal === null) return null;
  const isFiltered = args.icp_profile_id !== undefined || (args.min_score ?? 0) > 0;
  if (isFiltered && !fits(signal ? [signal] : await signalsOf(store, event), args)) return null;
  const data: unknown = JSON.parse(occurrenceData(event, signal));
  return { eventId: event.id, name, timestamp: toIso(event.createdAt), data };
}

async function findSignal(store: Store, { tenantId, subjectId }: EventRow): Promise<Signal | null> {
  const found = await store.getSignal(tenantId, subjectId);
  return found === null ? null : JSON.parse(found.wire);
}

/** The current signals of a lead, or those that a digest lists. */
async function signalsOf(
  store: Store,
  { tenantId, type, subjectId, data }: EventRow,
): Promise<SignalFacts[]> {
  if (type !== 'digest.ready') return signalsOfLead(store, subjectId);
  const { signals }: DigestData = JSON.parse(data);
  const ids = signals.map(({ signal_id }) => signal_id);
  return eachInTurns(
    await store.findLeadSignals(tenantId, ids),
    async ({ wire }) => JSON.parse(wire) as Signal,
  );
}
