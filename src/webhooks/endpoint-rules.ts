import { beyondPlan, effectivePlan, planLimits } from '../accounts/plans.ts';
import type { Clock } from '../lib/clock.ts';
import type { AddressSet } from '../lib/network.ts';
import { withoutTrailingSlashes } from '../lib/text.ts';
import { DomainError } from '../model/errors.ts';
import { formatBytes, isPreset, type PayloadFormat, PRESETS } from '../model/payload-shape.ts';
import type { Plan, Tenant } from '../model/tenant.ts';
import type { Endpoint, WebhookInput, WebhookPatch } from '../model/webhook.ts';
import type { Store } from '../store/store.ts';
import { checkResolvedTarget, checkTarget, hostOf, type Lookup } from './targets.ts';

/** What the rules need of the process. */
export interface RuleParts {
  store: Store;
  clock: Clock;
  allowTargets: AddressSet;
  /** Shared by the process: saves with unresolvable names take turns only with each other. */
  lookup: Lookup;
}

/**
 * The settings that are given, held to plan, profiles and target rules; the URL comes back in its normal form.
 * @throws DomainError `INVALID_REQUEST` (target, unknown profile), `PLAN_REQUIRED` (throughput, format)
 */
export async function acceptSettings<S extends WebhookPatch>(
  parts: RuleParts,
  tenant: Tenant,
  { mode, settings }: { mode: Endpoint['mode']; settings: S },
): Promise<S> {
  const plan = effectivePlan(tenant, parts.clock.now());
  refuseRate(plan, settings.rate_limit_per_minute ?? 0);
  refuseFormat(plan, settings.payload_format ?? null);
  await refuseUnknownProfiles(parts.store, tenant.id, settings.icp_profile_ids ?? []);
  if (mode === 'pull' && settings.url) throw pullHasNoUrl();
  return settings.url === undefined || mode === 'pull'
    ? settings
    : { ...settings, url: await acceptTarget(parts, settings.url) };
}

/** @throws DomainError `PLAN_REQUIRED` where the plan has no formats, or none as large */
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

/** Settings that do not fit each other. @throws DomainError `INVALID_REQUEST` */
export function refuseMismatch({ url, payload_format: format, batching }: WebhookInput): void {
  if (batching !== 'instant' && (format === null || !isPreset(format))) {
    const detail = `"${batching}" combines several signals in one chat message and requires a payload_format with a preset (${PRESETS.join(', ')}). Otherwise, keep batching "instant".`;
    throw new DomainError('INVALID_REQUEST', detail, { errors: [{ pointer: '/batching', detail }] });
  }
  if (format === null || !isPreset(format) || format.preset !== 'ntfy') return;
  if (url === '') return;
  const { pathname, origin } = new URL(url);
  if (withoutTrailingSlashes(pathname) !== `/${format.topic}`) return;
  // At a topic's own address ntfy would show the JSON as it is.
  const detail = `ntfy receives messages at the URL of its server: use "${origin}/". The topic belongs in payload_format.`;
  throw new DomainError('INVALID_REQUEST', detail, { errors: [{ pointer: '/url', detail }] });
}

/** The refusal of one more endpoint. */
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

async function acceptTarget({ allowTargets, lookup }: RuleParts, text: string): Promise<string> {
  if (text === '') {
    const detail =
      'must be the URL that deliveries are posted to; to read them from a feed instead, set mode to "pull"';
    throw badTarget(text, detail, allowTargets);
  }
  const target = checkTarget(text, allowTargets);
  if ('fault' in target) throw badTarget(text, target.fault, allowTargets);
  const fault = await checkResolvedTarget(target.url, allowTargets, lookup);
  if (fault !== null) throw badTarget(text, fault, allowTargets);
  return target.url.href;
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '::1']);
const OPENS_LOOPBACK =
  'For development, a server started with "WEBHOOK_ALLOW_TARGETS=127.0.0.0/8,::1/128 npm start" delivers to receivers on its own machine, over http:// and on any port.';

/** Most who are refused here are trying a receiver of their own out, and need to know what opens the way to it. */
function badTarget(text: string, detail: string, allowTargets: AddressSet): DomainError {
  const url = URL.parse(text);
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
