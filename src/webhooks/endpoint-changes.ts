import { effectivePlan, planLimits } from '../accounts/plans.ts';
import { HOUR_MS } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { Tenant } from '../model/tenant.ts';
import type { Endpoint, WebhookPatch } from '../model/webhook.ts';
import { changeUntilItHolds, type Precondition, UNCONDITIONAL } from '../store/change-until-it-holds.ts';
import { acceptSettings, refuseMismatch, tooManyEndpoints } from './endpoint-rules.ts';
import { type EndpointParts, findEndpoint, noEndpoint, sealHeaders } from './endpoints.ts';
import { generateSecret } from './signature.ts';

/** Retries made due in one commit: about 20 ms of the store's writer. */
const RELEASED_AT_ONCE = 2_000;

/** Changes the settings that are given and keeps the others. @throws DomainError as `createEndpoint`, and `NOT_FOUND` */
export async function changeEndpoint(
  parts: EndpointParts,
  tenant: Tenant,
  { id, patch, when = UNCONDITIONAL }: { id: string; patch: WebhookPatch; when?: Precondition },
): Promise<Endpoint> {
  const { mode } = await findEndpoint(parts.store, tenant.id, id); // an unknown ID is reported before an error in its settings
  const { headers, ordered, ...changed } = patch;
  const given = definedOnly(await acceptSettings(parts, tenant, { mode, settings: changed }));
  const sealed = headers === undefined ? {} : sealHeaders(parts, id, headers);
  return await rewrite(parts, { tenantId: tenant.id, id, what: 'settings' }, (endpoint) => {
    when(endpoint);
    const settings = { ...endpoint.settings, ...given };
    refuseMismatch(settings);
    return { ...endpoint, settings, ...sealed, ordered: ordered ?? endpoint.ordered };
  });
}

/** Gives the endpoint a new secret, which every later attempt uses; for `graceHours` the old one counts beside it. */
export async function regenerateSecret(
  parts: EndpointParts,
  tenant: Tenant,
  { id, graceHours = 0 }: { id: string; graceHours?: number },
): Promise<{ endpoint: Endpoint; secret: string }> {
  const until = graceHours === 0 ? null : parts.clock.now() + Math.round(graceHours * HOUR_MS);
  const secret = generateSecret(parts.random);
  const endpoint = await rewrite(parts, { tenantId: tenant.id, id, what: 'secret' }, (current) => ({
    ...current,
    previousSecretBox: until === null ? null : current.secretBox,
    previousSecretUntil: until,
    secretBox: parts.secretBox.seal(secret, id),
    secretLast4: secret.slice(-4),
  }));
  return { endpoint, secret };
}

/** Starts no attempt to it any more, and holds what waits. One that is paused already stays so until resumed by hand. */
export async function pauseEndpoint(parts: EndpointParts, tenant: Tenant, id: string): Promise<Endpoint> {
  refusePull(await findEndpoint(parts.store, tenant.id, id), 'paused');
  const paused = await parts.store.pauseEndpoint(tenant.id, id, parts.clock.now());
  if (!paused) throw noEndpoint(id);
  return await findEndpoint(parts.store, tenant.id, id);
}

/** @throws DomainError `CONFLICT` where the endpoint is read and not called, so that there is nothing to be `done` */
export function refusePull({ id, mode }: Endpoint, done: 'paused' | 'tested' | 'replayed'): void {
  if (mode === 'push') return;
  const detail = `The endpoint "${id}" has mode "pull": it is read from its feed, so it cannot be ${done}.`;
  throw new DomainError('CONFLICT', detail, {
    hint: `Read GET /v1/webhooks/${id}/feed. Events are kept for 7 days.`,
  });
}

/**
 * Ends a pause: the failure count is zero and the whole backlog due at once. One that is not paused stays as it is.
 * @throws DomainError `NOT_FOUND`, `PLAN_REQUIRED` where the plan has no room for one more active endpoint
 */
export async function resumeEndpoint(parts: EndpointParts, tenant: Tenant, id: string): Promise<Endpoint> {
  const { store, clock } = parts;
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

/** Reads, changes and stores; again where another change came between. */
function rewrite(
  { store, clock }: EndpointParts,
  { tenantId, id, what }: { tenantId: string; id: string; what: 'settings' | 'secret' },
  change: (endpoint: Endpoint) => Endpoint,
): Promise<Endpoint> {
  return changeUntilItHolds('webhook endpoint', async () => {
    const changed = change(await findEndpoint(store, tenantId, id));
    const isStored = await store.updateEndpoint(changed, clock.now(), what);
    return isStored ? findEndpoint(store, tenantId, id) : null;
  });
}

/** Deletes the endpoint; what waits for it is discarded. @throws DomainError `NOT_FOUND` */
export async function deleteEndpoint(
  { store, clock }: Pick<EndpointParts, 'store' | 'clock'>,
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
