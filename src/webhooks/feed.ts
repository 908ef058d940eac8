import { effectivePlan } from '../accounts/plans.ts';
import { type Clock, toIso } from '../lib/clock.ts';
import type { SecretBox } from '../lib/secret-box.ts';
import { createYielder } from '../lib/yielding.ts';
import { toBodyBytes } from '../model/delivery.ts';
import { FEED_MS } from '../model/event-resource.ts';
import type { PageRequest } from '../model/filters.ts';
import type { Tenant } from '../model/tenant.ts';
import type { Endpoint } from '../model/webhook.ts';
import type { FeedPage, FeedRow, FeedStore } from '../store/event-store.ts';
import { tooManyEndpoints } from './endpoints.ts';
import { signerOf } from './signature.ts';

interface FeedDeps {
  store: FeedStore;
  clock: Clock;
  secretBox: SecretBox;
}

/** Empty stretches passed by before an empty page is returned: of a tenant with many events, few of them for this endpoint. */
const MOST_STRETCHES = 20;

/** A page of an endpoint's feed. @throws DomainError `INVALID_CURSOR` */
export async function readFeed(
  { store, clock }: Pick<FeedDeps, 'store' | 'clock'>,
  { id, tenantId }: Endpoint,
  place: PageRequest,
): Promise<FeedPage> {
  const since = clock.now() - FEED_MS;
  const nextTurn = createYielder(clock);
  let page = await store.readFeed(tenantId, { endpointId: id, since, ...place });
  const { truncated } = page;
  for (let stretch = 1; stretch < MOST_STRETCHES && page.count === 0 && page.hasMore; stretch++) {
    await nextTurn();
    page = await store.readFeed(tenantId, { endpointId: id, since, ...place, after: page.next });
  }
  return { ...page, truncated };
}

/** @throws DomainError `PLAN_REQUIRED` where the endpoint is paused, as the plan has fewer */
export function refuseBeyondPlan(
  { clock }: Pick<FeedDeps, 'clock'>,
  tenant: Tenant,
  endpoint: Endpoint,
): void {
  if (endpoint.pausedReason === 'plan') throw tooManyEndpoints(effectivePlan(tenant, clock.now()));
}

/** Events of a feed as JSON, with commas between: each payload is the text that would be posted now. */
export function feedJson(
  { secretBox, clock }: FeedDeps,
  endpoint: Endpoint,
  rows: readonly FeedRow[],
): string {
  if (rows.length === 0) return '';
  const signer = signerOf(secretBox, endpoint);
  const nowSeconds = Math.floor(clock.now() / 1_000);
  return rows
    .map(({ id, eventType, happenedAt, body }) => {
      const payload = signer.seal({ id, ...toBodyBytes(body) }, nowSeconds).body.toString('utf8');
      const head = JSON.stringify({ id, type: eventType, timestamp: toIso(happenedAt) });
      return `${head.slice(0, -1)},"payload":${payload}}`;
    })
    .join(',');
}
