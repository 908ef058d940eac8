import { effectivePlan, planLimits } from '../accounts/plans.ts';
import { DAY_MS, toIso } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { Random } from '../lib/random.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { DomainError } from '../model/errors.ts';
import type { Tenant } from '../model/tenant.ts';
import type { Endpoint, WebhookCreate, WebhookResource } from '../model/webhook.ts';
import { type EndpointHeaders, shownHeaders } from '../model/webhook.ts';
import type { EndpointStore } from '../store/endpoint-store.ts';
import { acceptSettings, type RuleParts, refuseMismatch, tooManyEndpoints } from './endpoint-rules.ts';
import { generateSecret } from './signature.ts';

/** What the use cases of endpoints need of the process. */
export interface EndpointParts extends RuleParts {
  random: Random;
  newId: NewId;
  secretBox: SecretBox;
}

/**
 * Makes an endpoint with a secret of its own; the secret is returned here and never again.
 * @throws DomainError `INVALID_REQUEST` (target, unknown profile), `PLAN_REQUIRED` (count, throughput, format)
 */
export async function createEndpoint(
  parts: EndpointParts,
  tenant: Tenant,
  input: WebhookCreate,
): Promise<{ endpoint: Endpoint; secret: string }> {
  const { store, clock, random, newId, secretBox } = parts;
  const plan = effectivePlan(tenant, clock.now());
  const { headers = {}, mode = 'push', ordered = false, backfill_days: days = 0, ...given } = input;
  const settings = await acceptSettings(parts, tenant, { mode, settings: given });
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
    ...sealHeaders(parts, id, headers),
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
  const created = await store.createEndpoint(endpoint, planLimits(plan).endpoints);
  if (!created) throw tooManyEndpoints(plan);
  return { endpoint, secret };
}

function noBackfillOfBatches(): DomainError {
  const detail =
    'Past events cannot be combined into batched messages. Keep "batching" at "instant", or omit "backfill_days".';
  return new DomainError('INVALID_REQUEST', detail, { errors: [{ pointer: '/backfill_days', detail }] });
}

/** An endpoint's own headers as they are kept. */
export function sealHeaders(
  { secretBox }: Pick<EndpointParts, 'secretBox'>,
  id: string,
  headers: EndpointHeaders,
): Pick<Endpoint, 'headers' | 'headersBox'> {
  const isNone = Object.keys(headers).length === 0;
  const headersBox = isNone ? null : secretBox.seal(JSON.stringify(headers), headersContext(id));
  return { headers: shownHeaders(headers), headersBox };
}

/** What the box of an endpoint's headers is bound to. */
export function headersContext(id: string): string {
  return `${id}/headers`;
}

/** The tenant's endpoint of that id. @throws DomainError `NOT_FOUND` */
export async function findEndpoint(store: EndpointStore, tenantId: string, id: string): Promise<Endpoint> {
  const endpoint = await store.getEndpoint(tenantId, id);
  if (endpoint === null) throw noEndpoint(id);
  return endpoint;
}

/** The error for an ID that is no endpoint of the tenant. */
export function noEndpoint(id: string): DomainError {
  return new DomainError('NOT_FOUND', `There is no webhook endpoint "${id}".`);
}

/** An endpoint as every answer shows it, without its secret. */
export function endpointResource(endpoint: Endpoint): WebhookResource {
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
