import { type MailDeps, workOutbox } from '../accounts/mail.ts';
import { endTrials } from '../accounts/tenants.ts';
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { addAll } from '../lib/lists.ts';
import type { PeriodicJob } from '../lib/periodic.ts';
import { createYielder } from '../lib/yielding.ts';
import { ERASED_DATA } from '../model/constants.ts';
import type { EndpointNotice } from '../model/event.ts';
import type { Position } from '../model/filters.ts';
import { JOB_MS } from '../model/job.ts';
import { NEAR_WINDOW_MS } from '../model/near-keys.ts';
import type { Signal } from '../model/signal.ts';
import { DEAD_LETTER_MS } from '../rules/deliveries.ts';
import type { EndpointStore, Receiver } from '../store/endpoint-store.ts';
import type { Backfill, BackfillStep, NoticeStore, RecordedEvent } from '../store/event-store.ts';
import type { Store } from '../store/store.ts';
import { type DigestDeps, makeDigests, sendBatches } from './digests.ts';
import { fanOut, listReceivers, type RouteDeps, routeChanges, type StateChange } from './fan-out.ts';
import { createEnvelopes, shapedPayload } from './payload.ts';
import { endSubscriptions } from './subscriptions.ts';

/** How long what waits for a paused endpoint is held (specification, section 8). */
const HELD_MS = 7 * DAY_MS;
/** How long attempts are kept, and with the last of them their delivery. */
const LOG_MS = 30 * DAY_MS;
/** How long mail stays in the outbox, sent or not. */
const MAIL_MS = 90 * DAY_MS;
/** How long a revoked key stays in the list, so that users can look up what happened to it. */
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

interface BackfillDeps {
  store: Store;
  clock: Clock;
  newId: NewId;
}

/** Events looked at for one commit. */
const STEP_EVENTS = 100;
const BACKFILLS_AT_ONCE = 20;
const SIGNAL_EVENTS: ReadonlySet<string> = new Set(['signal.detected', 'signal.new_hot']);

/** Gives endpoints the events of before they were made that they asked for, a step of each in turn. */
export async function backfillEndpoints(
  deps: BackfillDeps,
  isStopping: () => boolean = () => false,
): Promise<void> {
  let isAnyDone = true;
  while (isAnyDone) {
    isAnyDone = false;
    for (const backfill of await deps.store.listBackfills(BACKFILLS_AT_ONCE)) {
      if (isStopping()) return;
      if (await step(deps, backfill)) isAnyDone = true;
    }
  }
}

async function step(deps: BackfillDeps, { position, from, until, ...ids }: Backfill): Promise<boolean> {
  const { store, clock } = deps;
  const { tenantId, endpointId } = ids;
  const receiver = (await listReceivers(deps, tenantId)).find(({ id }) => id === endpointId);
  if (receiver === undefined) return false;
  const page = await store.listStoredEvents(tenantId, {
    ...{ types: receiver.settings.event_types, from, to: until + 1, limit: STEP_EVENTS },
    after: position === 0 ? null : [position],
  });
  const items: BackfillStep['items'] = [];
  const nextTurn = createYielder(clock);
  for (const event of page.rows) {
    addAll(items, await itemsOf(deps, event, receiver));
    await nextTurn();
  }
  const next = Number(page.next[0]);
  const change = { ...ids, position, next, isLast: !page.hasMore, items, now: clock.now() };
  return await store.commitBackfill(change);
}

/** The delivery of an event to the endpoint; none where it was routed to it before, is filtered out, or is gone. */
async function itemsOf(
  { store, newId }: BackfillDeps,
  { deliveries, batched, skips, ...event }: RecordedEvent,
  receiver: Receiver,
): Promise<BackfillStep['items']> {
  const routed = [...deliveries, ...skips].map(({ endpointId }) => endpointId);
  if ([...routed, ...batched].includes(receiver.id)) return [];
  if (!SIGNAL_EVENTS.has(event.type)) {
    // An event whose person was erased says nothing any more.
    if (event.data === ERASED_DATA) return [];
    const made = fanOut(event, createEnvelopes(event), [receiver], newId, null);
    return made.deliveries.map((delivery) => ({ event, delivery }));
  }
  const found = await store.getSignal(event.tenantId, event.subjectId);
  const signal = found === null ? null : (JSON.parse(found.wire) as Signal);
  if (signal === null || signal.excerpt === '') return [];
  const envelopes = createEnvelopes(event);
  const bodyOf = ({ shape }: Receiver) =>
    event.type === 'signal.detected' || shape?.preset ? shapedPayload(signal, shape) : envelopes({ shape });
  const made = fanOut(event, bodyOf, [receiver], newId, signal);
  return made.deliveries.map((delivery) => ({ event, delivery }));
}
