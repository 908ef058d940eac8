import { type MailDeps, workOutbox } from '../accounts/mail.ts';
import { endTrials } from '../accounts/tenants.ts';
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../lib/clock.ts';
import type { PeriodicJob } from '../lib/periodic.ts';
import type { EndpointNotice } from '../model/event.ts';
import type { Position } from '../model/filters.ts';
import { JOB_MS } from '../model/job.ts';
import { NEAR_WINDOW_MS } from '../model/near-keys.ts';
import { DEAD_LETTER_MS } from '../rules/deliveries.ts';
import type { EndpointStore, Receiver } from '../store/endpoint-store.ts';
import type { NoticeStore } from '../store/event-store.ts';
import type { Store } from '../store/store.ts';
import { backfillEndpoints } from './backfills.ts';
import { type DigestDeps, makeDigests, sendBatches } from './digests.ts';
import { type RouteDeps, routeChanges, type StateChange } from './fan-out.ts';
import { endSubscriptions } from './subscriptions.ts';

/** How long what waits for a paused endpoint is held (specification, section 8). */
const HELD_MS = 7 * DAY_MS;
/** How long attempts are kept, and with the last of them their delivery. */
const LOG_MS = 30 * DAY_MS;
/** How long mail stays in the outbox, sent or not. */
const MAIL_MS = 90 * DAY_MS;
/** How long a revoked key stays in the list: as long as somebody may ask what became of it. */
const REVOKED_KEY_MS = 90 * DAY_MS;
/** How long the audit list goes back: a year, and a leap day. */
const AUDIT_MS = 366 * DAY_MS;
/** Well beyond the throttle's window. */
const TEST_SEND_MS = 10 * MINUTE_MS;

/** Rows changed in one commit: about 10 ms of the store's writer. */
const AT_ONCE = 500;
/** Some hundred rows each. */
const ENDPOINTS_AT_ONCE = 50;

export interface HousekeepingDeps extends Omit<MailDeps, 'store'>, Pick<DigestDeps, 'newId'> {
  store: Store;
  clock: Clock;
  /** So many dead letters left their queues. */
  onExpired?(count: number): void;
}

type IsStopping = () => boolean;

/** What time brings about. Each job can be cut short and run again: it goes on where things stand. */
export function housekeepingJobs(deps: HousekeepingDeps): PeriodicJob[] {
  return [
    { name: 'mail', everyMs: 5 * SECOND_MS, run: (isStopping) => workOutbox(deps, isStopping) },
    { name: 'notices', everyMs: 2 * SECOND_MS, run: (isStopping) => announceNotices(deps, isStopping) },
    { name: 'backfills', everyMs: 2 * SECOND_MS, run: (isStopping) => backfillEndpoints(deps, isStopping) },
    { name: 'digests', everyMs: 15 * SECOND_MS, run: (isStopping) => makeDigests(deps, isStopping) },
    { name: 'batches', everyMs: 15 * SECOND_MS, run: (isStopping) => sendBatches(deps, isStopping) },
    {
      name: 'subscriptions',
      everyMs: 15 * SECOND_MS,
      run: (isStopping) => endSubscriptions(deps, isStopping),
    },
    { name: 'trials', everyMs: MINUTE_MS, run: () => endTrials(deps) },
    { name: 'expiry', everyMs: MINUTE_MS, run: (isStopping) => expireDeliveries(deps, isStopping) },
    { name: 'retention', everyMs: HOUR_MS, run: (isStopping) => forgetOld(deps, isStopping) },
  ];
}

/** Ends what was held for too long, takes old dead letters out of the queue, clears what waits for deleted endpoints. */
export async function expireDeliveries(
  { store, clock, onExpired }: Pick<HousekeepingDeps, 'store' | 'clock' | 'onExpired'>,
  isStopping: IsStopping = () => false,
): Promise<void> {
  const now = clock.now();
  const limit = AT_ONCE;
  await inChunks(isStopping, () =>
    store.endHeld({ heldBefore: now - HELD_MS, deadUntil: now + DEAD_LETTER_MS, limit }),
  );
  await inChunks(isStopping, async () => {
    const count = await store.expireDead({ now, limit });
    onExpired?.(count);
    return count;
  });
  await inChunks(isStopping, () => store.discardOfDeleted(limit));
}

/** Removes what is older than it is kept. */
export async function forgetOld(
  { store, clock }: Pick<HousekeepingDeps, 'store' | 'clock'>,
  isStopping: IsStopping = () => false,
): Promise<void> {
  const now = clock.now();
  for (let after: string | null = ''; after !== null && !isStopping(); )
    after = await store.tidyAttemptHours({ now, after, limit: ENDPOINTS_AT_ONCE });
  await inChunks(isStopping, () => store.pruneAttempts(now - LOG_MS, AT_ONCE));
  for (const { id } of await store.listTenants()) await forgetDeliveries(store, id, now - LOG_MS, isStopping);
  await inChunks(isStopping, () => store.pruneEndpoints(now - LOG_MS, AT_ONCE));
  await inChunks(isStopping, () => store.pruneJobs(now - JOB_MS, AT_ONCE));
  await inChunks(isStopping, () => store.pruneMail(now - MAIL_MS, AT_ONCE));
  await inChunks(isStopping, () => store.pruneKeys(now - REVOKED_KEY_MS, AT_ONCE));
  await inChunks(isStopping, () => store.pruneNearKeys(now - NEAR_WINDOW_MS, AT_ONCE));
  await inChunks(isStopping, () => store.pruneBodyTails(AT_ONCE));
  await inChunks(isStopping, () => store.pruneSessions(now, AT_ONCE));
  await inChunks(isStopping, () => store.pruneAudit(now - AUDIT_MS, AT_ONCE));
  await store.pruneTestSends(now - TEST_SEND_MS);
}

async function forgetDeliveries(
  store: Store,
  tenantId: string,
  before: number,
  isStopping: IsStopping,
): Promise<void> {
  let after: Position | null = null;
  do {
    if (isStopping()) return;
    const { next } = await store.pruneDeliveries({ tenantId, before, after, limit: AT_ONCE });
    after = next;
  } while (after !== null);
}

/** Until a step found less than a whole part to do. Each is a commit of its own, so that others get their turn. */
async function inChunks(isStopping: IsStopping, step: () => Promise<number>): Promise<void> {
  let done = AT_ONCE;
  while (done >= AT_ONCE && !isStopping()) done = await step();
}

interface NoticeDeps extends Omit<RouteDeps, 'store'> {
  store: RouteDeps['store'] & NoticeStore & EndpointStore;
}

/** Notices made events in one commit a tenant. */
const NOTICES_AT_ONCE = 200;

/** Makes an event of everything that happened to endpoints and deliveries since the last time, each once. */
export async function announceNotices(
  deps: NoticeDeps,
  isStopping: () => boolean = () => false,
): Promise<void> {
  const { store } = deps;
  let notices: EndpointNotice[];
  do {
    notices = await store.listNotices(NOTICES_AT_ONCE);
    for (const [tenantId, own] of Map.groupBy(notices, (notice) => notice.tenantId)) {
      if (isStopping()) return;
      const endpoints = new Map((await store.listReceivers(tenantId)).map((each) => [each.id, each]));
      const changes = own.map((notice) => changeOf(notice, endpoints.get(notice.endpointId)));
      const events = await routeChanges(deps, tenantId, changes);
      await store.commitNotices({ tenantId, ids: own.map(({ id }) => id), events });
    }
  } while (notices.length === NOTICES_AT_ONCE && !isStopping());
}

/** `endpoint` is left out where it was deleted meanwhile. */
function changeOf({ type, endpointId, facts }: EndpointNotice, endpoint: Receiver | undefined): StateChange {
  const { label = '', url = '' } = endpoint?.settings ?? {};
  const about = { endpoint_id: endpointId, label, host: URL.parse(url)?.host ?? '' };
  const subjectId = type === 'delivery.dead' ? String(facts.delivery_id) : endpointId;
  return { type, subjectId, data: { ...about, ...facts }, notTo: endpointId };
}
