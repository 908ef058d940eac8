import { beyondPlan, effectivePlan, planLimits } from '../accounts/plans.ts';
import { type Clock, DAY_MS, HOUR_MS, toIso } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { AddressSet } from '../lib/network.ts';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { parseUrl, withoutTrailingSlashes } from '../lib/text.ts';
import { DomainError } from '../model/errors.ts';
import { formatBytes, isPreset, type PayloadFormat, PRESETS } from '../model/payload-shape.ts';
import type { Plan, Tenant } from '../model/tenant.ts';
import {
  type Endpoint,
  type EndpointHeaders,
  type ListedEndpoint,
  shownHeaders,
  type WebhookCreate,
  type WebhookInput,
  type WebhookPatch,
  type WebhookResource,
} from '../model/webhook.ts';
import { changeUntilItHolds, type Precondition, UNCONDITIONAL } from '../store/change-until-it-holds.ts';
import type { EndpointStore } from '../store/endpoint-store.ts';
import type { Store } from '../store/store.ts';
import { generateSecret } from './signature.ts';
import { checkResolvedTarget, checkTarget, hostOf, type Lookup } from './targets.ts';

/** Dependencies of the use cases of endpoints. */
export interface EndpointDeps extends RuleDeps {
  random: Random;
  newId: NewId;
  secretBox: SecretBox;
}

/**
 * The maximum number of endpoints, even on a plan without a limit. One event can have a delivery for each, and is stored, listed and shown
 * with all of them: with 47,000, a post took 11 s, and its screen paused the process for 0.4 s.
 */
const MAX_ENDPOINTS = 10_000;

/**
 * Creates an endpoint with a new secret, which is returned only here.
 * @throws DomainError `INVALID_REQUEST` (target, unknown profile), `PLAN_REQUIRED` (count, throughput,
 * format)
 */
export async function createEndpoint(
  deps: EndpointDeps,
  tenant: Tenant,
  input: WebhookCreate,
): Promise<{ endpoint: Endpoint; secret: string }> {
  const { store, clock, random, newId, secretBox } = deps;
  const plan = effectivePlan(tenant, clock.now());
  const { headers = {}, mode = 'push', ordered = false, backfill_days: days = 0, ...given } = input;
  const settings = await acceptSettings(deps, tenant, { mode, settings: given });
  refuseMismatch(settings);
  if (days > 0 && settings.batching !== 'instant') throw noBackfillOfBatches();
  const secret = generateSecret(random);
  const id = newId('whk');
  const endpoint: Endpoint = {
    id,
    tenantId: tenant.id,
    mode,
    settings,
    secretBox: secretBox.seal(secret, id),
    secretLast4: secret.slice(-4),
    previousSecretBox: null,
    previousSecretUntil: null,
    ...sealHeaders(deps, id, headers),
    ordered,
    backfillFrom: days === 0 ? null : clock.now() - days * DAY_MS,
    status: 'active',
    pausedReason: null,
    pausedAt: null,
    consecutiveFailures: 0,
    alarm: 'none',
    version: 1,
    createdAt: clock.now(),
  };
  const { endpoints, payloadFormatsBytes } = planLimits(plan);
  const outcome = await store.createEndpoint(endpoint, endpoints ?? MAX_ENDPOINTS, payloadFormatsBytes);
  if (outcome === 'full') throw endpoints === null ? noFurtherEndpoint() : tooManyEndpoints(plan);
  if (outcome === 'formats_full') throw formatsTooLarge(plan);
  return { endpoint, secret };
}

function noFurtherEndpoint(): DomainError {
  return new DomainError('PLAN_REQUIRED', `An account has at most ${MAX_ENDPOINTS} webhook endpoints.`, {
    hint: 'Remove what you no longer need.',
    members: { limit: MAX_ENDPOINTS },
  });
}

function noBackfillOfBatches(): DomainError {
  const detail =
    'Past events cannot be combined into batched messages. Keep "batching" at "instant", or omit "backfill_days".';
  return new DomainError('INVALID_REQUEST', detail, { errors: [{ pointer: '/backfill_days', detail }] });
}

/** The endpoint's own headers as stored. */
export function sealHeaders(
  { secretBox }: Pick<EndpointDeps, 'secretBox'>,
  id: string,
  headers: EndpointHeaders,
): Pick<Endpoint, 'headers' | 'headersBox'> {
  const isNone = Object.keys(headers).length === 0;
  const headersBox = isNone ? null : secretBox.seal(JSON.stringify(headers), headersContext(id));
  return { headers: shownHeaders(headers), headersBox };
}

/** The encryption context of an endpoint's headers. */
export function headersContext(id: string): string {
  return `${id}/headers`;
}

/** Returns an endpoint of the tenant. @throws DomainError `NOT_FOUND` */
export async function findEndpoint(store: EndpointStore, tenantId: string, id: string): Promise<Endpoint> {
  const endpoint = await store.getEndpoint(tenantId, id);
  if (endpoint === null) throw noEndpoint(id);
  return endpoint;
}

/** The error for an unknown endpoint. */
export function noEndpoint(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no webhook endpoint "${id}".`);
}

/** Converts an endpoint to its representation in every API, without its secret. */
export function endpointResource(endpoint: ListedEndpoint): WebhookResource {
  const { previousSecretUntil } = endpoint;
  const { url, label, ...settings } = endpoint.settings;
  return {
    id: endpoint.id,
    mode: endpoint.mode === 'pull' ? 'pull' : 'push',
    url: url === '' ? null : url,
    label,
    ...settings,
    ordered: endpoint.ordered,
    headers: endpoint.headers,
    status: endpoint.status,
    paused_reason: endpoint.pausedReason,
    paused_at: endpoint.pausedAt === null ? null : toIso(endpoint.pausedAt),
    consecutive_failures: endpoint.consecutiveFailures,
    secret_last4: endpoint.secretLast4,
    previous_secret_expires_at: previousSecretUntil === null ? null : toIso(previousSecretUntil),
    created_at: toIso(endpoint.createdAt),
  };
}

/** Retries made due in one commit, which takes the store's writer about 20 ms. */
const RELEASED_AT_ONCE = 2_000;

/** Changes the given settings. @throws DomainError like `createEndpoint`, and `NOT_FOUND` */
export async function changeEndpoint(
  deps: EndpointDeps,
  tenant: Tenant,
  { id, patch, when = UNCONDITIONAL }: { id: string; patch: WebhookPatch; when?: Precondition },
): Promise<Endpoint> {
  const { mode } = await findEndpoint(deps.store, tenant.id, id); // an unknown ID is reported before an error in its settings
  const { headers, ordered, ...changed } = patch;
  const given = definedOnly(await acceptSettings(deps, tenant, { mode, settings: changed }));
  const sealed = headers === undefined ? {} : sealHeaders(deps, id, headers);
  return await rewrite(deps, tenant, { id, what: 'settings' }, (endpoint) => {
    when(endpoint);
    const settings = { ...endpoint.settings, ...given };
    refuseMismatch(settings);
    return { ...endpoint, settings, ...sealed, ordered: ordered ?? endpoint.ordered };
  });
}

/**
 * Gives the endpoint a new secret for all later attempts. For `graceHours`, the previous one is valid, too.
 */
export async function regenerateSecret(
  deps: EndpointDeps,
  tenant: Tenant,
  { id, graceHours = 0 }: { id: string; graceHours?: number },
): Promise<{ endpoint: Endpoint; secret: string }> {
  const until = graceHours === 0 ? null : deps.clock.now() + Math.round(graceHours * HOUR_MS);
  const secret = generateSecret(deps.random);
  const endpoint = await rewrite(deps, tenant, { id, what: 'secret' }, (current) => ({
    ...current,
    previousSecretBox: until === null ? null : current.secretBox,
    previousSecretUntil: until,
    secretBox: deps.secretBox.seal(secret, id),
    secretLast4: secret.slice(-4),
  }));
  return { endpoint, secret };
}

/**
 * Starts no further attempts, and holds waiting deliveries. A paused endpoint stays paused until it is
 * resumed manually.
 */
export async function pauseEndpoint(deps: EndpointDeps, tenant: Tenant, id: string): Promise<Endpoint> {
  refusePull(await findEndpoint(deps.store, tenant.id, id), 'paused');
  const paused = await deps.store.pauseEndpoint(tenant.id, id, deps.clock.now());
  if (!paused) throw noEndpoint(id);
  return await findEndpoint(deps.store, tenant.id, id);
}

/** @throws DomainError `CONFLICT` if it is a pull endpoint, which cannot be `done` */
export function refusePull({ id, mode }: Endpoint, done: 'paused' | 'tested' | 'replayed'): void {
  if (mode === 'push') return;
  const detail = `The endpoint "${id}" has mode "pull": it is read from its feed, so it cannot be ${done}.`;
  throw new DomainError('CONFLICT', detail, {
    hint: `Read GET /v1/webhooks/${id}/feed. Events are kept for 7 days.`,
  });
}

/**
 * Resumes an endpoint: resets its failure count and makes its whole backlog due. Does nothing if it is not
 * paused.
 * @throws DomainError `NOT_FOUND`, `PLAN_REQUIRED` if the plan does not allow another active endpoint
 */
export async function resumeEndpoint(deps: EndpointDeps, tenant: Tenant, id: string): Promise<Endpoint> {
  const { store, clock } = deps;
  const plan = effectivePlan(tenant, clock.now());
  const step = {
    tenantId: tenant.id,
    id,
    now: clock.now(),
    endpointLimit: planLimits(plan).endpoints,
    limit: RELEASED_AT_ONCE,
  };
  let done = await store.resumeEndpoint(step);
  while (done === 'more') done = await store.resumeEndpoint(step);
  if (done === 'absent') throw noEndpoint(id);
  if (done === 'over_limit') throw tooManyEndpoints(plan);
  return await findEndpoint(store, tenant.id, id);
}

/** Reads, changes and stores an endpoint; repeats that if it was changed in between. */
function rewrite(
  { store, clock }: EndpointDeps,
  tenant: Tenant,
  { id, what }: { id: string; what: 'settings' | 'secret' },
  change: (endpoint: Endpoint) => Endpoint,
): Promise<Endpoint> {
  const plan = effectivePlan(tenant, clock.now());
  const { payloadFormatsBytes } = planLimits(plan);
  return changeUntilItHolds('webhook endpoint', async () => {
    const changed = change(await findEndpoint(store, tenant.id, id));
    const outcome = await store.updateEndpoint(changed, clock.now(), what, payloadFormatsBytes);
    if (outcome === 'formats_full') throw formatsTooLarge(plan);
    return outcome === 'updated' ? findEndpoint(store, tenant.id, id) : null;
  });
}

/** Deletes the endpoint and discards its waiting deliveries. @throws DomainError `NOT_FOUND` */
export async function deleteEndpoint(
  { store, clock }: Pick<EndpointDeps, 'store' | 'clock'>,
  tenantId: string,
  id: string,
  when: Precondition = UNCONDITIONAL,
): Promise<void> {
  await changeUntilItHolds('webhook endpoint', async () => {
    const endpoint = await findEndpoint(store, tenantId, id);
    when(endpoint);
    return (await store.deleteEndpoint(tenantId, id, clock.now(), endpoint.version)) || null;
  });
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function definedOnly<T extends object>(patch: T): Defined<T> {
  return Object.fromEntries(Object.entries(patch).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** Dependencies of the rules. */
interface RuleDeps {
  store: Store;
  clock: Clock;
  allowTargets: AddressSet;
  /** Shared by the process: saves with unresolvable names delay only each other. */
  lookup: Lookup;
}

/**
 * Checks given settings against the plan, the profiles and the rules for targets; returns them with a
 * normalised URL.
 * @throws DomainError `INVALID_REQUEST` (target, unknown profile), `PLAN_REQUIRED` (throughput, format)
 */
export async function acceptSettings<S extends WebhookPatch>(
  deps: RuleDeps,
  tenant: Tenant,
  { mode, settings }: { mode: Endpoint['mode']; settings: S },
): Promise<S> {
  const plan = effectivePlan(tenant, deps.clock.now());
  refuseRate(plan, settings.rate_limit_per_minute ?? 0);
  refuseFormat(plan, settings.payload_format ?? null);
  await refuseUnknownProfiles(deps.store, tenant.id, settings.icp_profile_ids ?? []);
  if (mode === 'pull' && settings.url) throw pullHasNoUrl();
  return settings.url === undefined || mode === 'pull'
    ? settings
    : { ...settings, url: await acceptTarget(deps, tenant.id, settings.url) };
}

/** @throws DomainError `PLAN_REQUIRED` if the plan does not include formats, or none of this size */
export function refuseFormat(plan: Plan, format: PayloadFormat | null): void {
  if (format === null) return;
  const limit = planLimits(plan).payloadFormatBytes;
  const needed = formatBytes(format);
  if (needed <= limit) return;
  const fact =
    limit === 0
      ? `The ${plan} plan only includes the standard payload.`
      : `The ${plan} plan allows payload formats of at most ${limit} bytes as JSON. This one has ${needed}.`;
  throw beyondPlan(plan, { counted: 'payloadFormatBytes', needed, fact });
}

/** The error for exceeding the plan's total size of payload formats. */
function formatsTooLarge(plan: Plan): DomainError {
  const limit = planLimits(plan).payloadFormatsBytes;
  const fact = `The ${plan} plan allows payload formats of at most ${limit} bytes as JSON in all endpoints together.`;
  return beyondPlan(plan, { counted: 'payloadFormatsBytes', fact });
}

/** Rejects contradictory settings. @throws DomainError `INVALID_REQUEST` */
function refuseMismatch({ url, payload_format: format, batching }: WebhookInput): void {
  if (batching !== 'instant' && (format === null || !isPreset(format))) {
    const detail = `"${batching}" combines several signals in one chat message and requires a payload_format with a preset (${PRESETS.join(', ')}). Otherwise, keep batching "instant".`;
    throw new DomainError('INVALID_REQUEST', detail, { errors: [{ pointer: '/batching', detail }] });
  }
  if (format === null || !isPreset(format) || format.preset !== 'ntfy') return;
  if (url === '') return;
  const { pathname, origin } = new URL(url);
  if (withoutTrailingSlashes(pathname) !== `/${format.topic}`) return;
  // At the URL of a topic, ntfy would show the raw JSON.
  const detail = `ntfy receives messages at the URL of its server: use "${origin}/". The topic belongs in payload_format.`;
  throw new DomainError('INVALID_REQUEST', detail, { errors: [{ pointer: '/url', detail }] });
}

/** The error for exceeding the plan's number of endpoints. */
export function tooManyEndpoints(plan: Plan): DomainError {
  const { endpoints } = planLimits(plan);
  const fact = `The ${plan} plan has at most ${endpoints} webhook endpoint${endpoints === 1 ? '' : 's'}.`;
  return beyondPlan(plan, { counted: 'endpoints', fact });
}

function refuseRate(plan: Plan, rate: number): void {
  const { maxRatePerMinute } = planLimits(plan);
  if (rate <= maxRatePerMinute) return;
  const fact = `The ${plan} plan allows at most ${maxRatePerMinute} requests per minute to an endpoint.`;
  throw beyondPlan(plan, { counted: 'maxRatePerMinute', needed: rate, fact });
}

function pullHasNoUrl(): DomainError {
  const detail =
    'An endpoint with mode "pull" is read from its feed and has no "url". Omit it, or use mode "push".';
  return new DomainError('INVALID_REQUEST', detail, { errors: [{ pointer: '/url', detail }] });
}

async function acceptTarget(
  { allowTargets, lookup }: RuleDeps,
  tenantId: string,
  text: string,
): Promise<string> {
  if (text === '') {
    const detail =
      'must be the URL that deliveries are posted to; to read them from a feed instead, set mode to "pull"';
    throw badTarget(text, detail, allowTargets);
  }
  const target = checkTarget(text, allowTargets);
  if ('fault' in target) throw badTarget(text, target.fault, allowTargets);
  const fault = await checkResolvedTarget(target.url, allowTargets, lookup, tenantId);
  if (fault !== null) throw badTarget(text, fault, allowTargets);
  return target.url.href;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '::1']);
const OPENS_LOOPBACK =
  'For development, a server started with "WEBHOOK_ALLOW_TARGETS=127.0.0.0/8,::1/128 npm start" delivers to receivers on its own machine, over http:// and on any port.';

/** Most rejected URLs are those of local test receivers, so the hint says how to allow them. */
function badTarget(text: string, detail: string, allowTargets: AddressSet): DomainError {
  const url = parseUrl(text);
  const isLocalTry = url !== null && (url.protocol === 'http:' || LOOPBACK.has(hostOf(url)));
  const errors = [{ pointer: '/url', detail }];
  const hint = isLocalTry && !allowTargets.has('127.0.0.1') ? { hint: OPENS_LOOPBACK } : {};
  return new DomainError('INVALID_REQUEST', detail, { errors, ...hint });
}

async function refuseUnknownProfiles(store: Store, tenantId: string, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  const known = new Set((await store.listProfiles(tenantId)).map((profile) => profile.id));
  const errors = ids.flatMap((id, index) =>
    known.has(id) ? [] : [{ pointer: `/icp_profile_ids/${index}`, detail: `There is no profile "${id}".` }],
  );
  if (errors.length > 0)
    throw new DomainError('INVALID_REQUEST', 'The endpoint refers to an unknown profile.', { errors });
}
