import { createHash, timingSafeEqual } from 'node:crypto';
import { DAY_MS, toIso } from '../lib/clock.ts';
import { canonicalJson } from '../lib/json.ts';
import type { AttemptErrorCode } from '../model/delivery.ts';
import { DomainError } from '../model/errors.ts';
import type { ApiKey } from '../model/key.ts';
import {
  EventRefusal,
  MAX_SUBSCRIPTIONS,
  MCP_EVENTS,
  type McpEventArguments,
  type McpEventName,
  type McpSubscription,
} from '../model/mcp.ts';
import type { Tenant } from '../model/tenant.ts';
import { type Endpoint, type WebhookInput, webhookInputSchema } from '../model/webhook.ts';
import { changeUntilItHolds } from '../store/change-until-it-holds.ts';
import type { SubscribedEndpoint } from '../store/endpoint-store.ts';
import { acceptSettings } from './endpoint-rules.ts';
import { type EndpointParts, sealHeaders } from './endpoints.ts';
import type { SendTest } from './test-delivery.ts';

/** What subscriptions need of the process. */
export interface SubscriptionParts extends EndpointParts {
  sendTest: SendTest;
}

/** What a client asks for, its arguments checked. */
export interface SubscriptionRequest {
  name: McpEventName;
  arguments: McpEventArguments;
  url: string;
  /** The client's own, `whsec_` and base64 of 24 to 64 bytes. */
  secret: string;
  /** How long it is to last unless it is renewed. */
  ttlMs: number;
}

/** A subscription as its client is shown it. */
export interface SubscriptionState {
  id: string;
  refreshBefore: string;
  /** Whether it was delivered to until now; null where it is new. */
  wasActive: boolean | null;
}

const CHALLENGE_BYTES = 32;
const CHALLENGE_SECONDS = 10;
/** How long a secret that was replaced goes on signing beside the new one. */
const SECRET_GRACE_MS = DAY_MS;
/** After 30, 60 and 120 seconds. */
const RETRIES = { max_retries: 3, retry_interval_seconds: 30, backoff: 'exponential' } as const;
const ENDED_AT_ONCE = 100;

/**
 * Subscribes a key to an event, or renews what it is subscribed to: the same event, arguments and address are one
 * subscription. A new one, and one with another secret, answers a signed challenge first.
 * @throws EventRefusal
 */
export async function subscribe(
  parts: SubscriptionParts,
  { key, tenant }: { key: ApiKey; tenant: Tenant },
  request: SubscriptionRequest,
): Promise<SubscriptionState> {
  const settings = await settingsOf(parts, tenant, request);
  const id = subscriptionId(key.id, { ...request, url: settings.url });
  return changeUntilItHolds('subscription', async () => {
    const known = await parts.store.findSubscription(tenant.id, id);
    const now = parts.clock.now();
    // With its key or access token it ends in any case.
    const expiresAt = Math.min(now + request.ttlMs, key.expiresAt ?? Number.POSITIVE_INFINITY);
    const state = { id, refreshBefore: toIso(expiresAt) };
    if (known === null) {
      const made = make(parts, { id, keyId: key.id, tenantId: tenant.id, settings, request, expiresAt });
      await challenge(parts, made.endpoint);
      const outcome = await parts.store.createSubscription(made, MAX_SUBSCRIPTIONS);
      if (outcome === 'duplicate') return null;
      if (outcome !== 'created') throw exhausted(outcome);
      return { ...state, wasActive: null };
    }
    const endpoint = withSecret(parts, known.endpoint, request.secret);
    if (endpoint !== known.endpoint) await challenge(parts, endpoint);
    // `createdAt` is when what waits is due again, where it was paused.
    const subscription = { ...known.subscription, expiresAt, createdAt: now };
    if (!(await parts.store.renewSubscription({ subscription, endpoint }))) return null;
    return { ...state, wasActive: known.endpoint.status === 'active' };
  });
}

/** Ends a key's subscription; what is not there needs no end. */
export async function unsubscribe(
  parts: Pick<SubscriptionParts, 'store' | 'clock'>,
  { key, tenant }: { key: ApiKey; tenant: Tenant },
  of: { id: string } | Pick<SubscriptionRequest, 'name' | 'arguments' | 'url'>,
): Promise<void> {
  const id = 'id' in of ? of.id : subscriptionId(key.id, { ...of, url: normalUrl(of.url) });
  await parts.store.endSubscription(tenant.id, key.id, id, parts.clock.now());
}

/** Ends subscriptions whose time is over, whose key was revoked or has expired, and whose receiver answered 410. */
export async function endSubscriptions(
  parts: Pick<SubscriptionParts, 'store' | 'clock'>,
  isStopping: () => boolean = () => false,
): Promise<void> {
  let ended: string[];
  do {
    ended = await parts.store.endSubscriptions(parts.clock.now(), ENDED_AT_ONCE);
  } while (ended.length === ENDED_AT_ONCE && !isStopping());
}

/** The same for the same request of the same key, so that renewing needs no state of the client's. */
function subscriptionId(
  principal: string,
  { name, arguments: args, url }: Pick<SubscriptionRequest, 'name' | 'arguments' | 'url'>,
): string {
  const identity = canonicalJson({ arguments: args, name, principal, url });
  return `sub_${createHash('sha256').update(identity).digest('hex').slice(0, 32)}`;
}

function normalUrl(url: string): string {
  return URL.canParse(url) ? new URL(url).href : url;
}

/** The endpoint's settings, held to the rules of every endpoint. */
async function settingsOf(
  parts: SubscriptionParts,
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
    return await acceptSettings(parts, tenant, { mode: 'mcp', settings });
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'INVALID_REQUEST') throw error;
    const [fault] = error.extra.errors ?? [];
    const field = fault?.pointer === '/url' ? 'delivery.url' : 'arguments.icp_profile_id';
    throw new EventRefusal('InvalidParams', fault?.detail ?? error.message, { field });
  }
}

function make(
  parts: SubscriptionParts,
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
  const createdAt = parts.clock.now();
  const endpointId = parts.newId('whk');
  const subscription: McpSubscription = { id, tenantId, keyId, endpointId, name, expiresAt, createdAt };
  const endpoint: Endpoint = {
    id: endpointId,
    tenantId,
    mode: 'mcp',
    ordered: false,
    settings,
    secretBox: parts.secretBox.seal(secret, endpointId),
    secretLast4: secret.slice(-4),
    previousSecretBox: null,
    previousSecretUntil: null,
    ...sealHeaders(parts, endpointId, { 'X-MCP-Subscription-Id': id }),
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

/** The endpoint with the client's secret; the one before goes on signing beside it. The same object where it has it. */
function withSecret({ secretBox, clock }: SubscriptionParts, endpoint: Endpoint, secret: string): Endpoint {
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
 * Asks the address whether it wants deliveries: anyone can name one, only its owner can echo what it is sent. It goes out by
 * the dispatcher, within the rules of targets and the throttle. @throws EventRefusal
 */
async function challenge({ random, newId, sendTest }: SubscriptionParts, endpoint: Endpoint): Promise<void> {
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

/** The categories of SEP-3415, which tell nothing of what the address answered. */
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
