import { type MailDeps, workOutbox } from '../accounts/mail.ts';
import { endTrials } from '../accounts/tenants.ts';
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { addAll } from '../lib/lists.ts';
import type { IsStopping, PeriodicJob } from '../lib/periodic.ts';
import { parseUrl } from '../lib/text.ts';
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
import {
  fanOut,
  findReceiver,
  MOST_DELIVERIES_A_COMMIT,
  type RouteDeps,
  routeChanges,
  type StateChange,
} from './fan-out.ts';
import { createEnvelopes, shapedPayload } from './payload.ts';
import { readSmallPage } from './small-pages.ts';
import { endSubscriptions } from './subscriptions.ts';

/** How long deliveries to a paused endpoint are held (specification, section 8). */
const HELD_MS = 7 * DAY_MS;
/** How long attempts are stored, and deliveries after their last attempt. */
const LOG_MS = 30 * DAY_MS;
/** How long mail stays in the outbox, sent or not. */
const MAIL_MS = 90 * DAY_MS;
/** How long revoked keys stay in the list, so that users can look them up. */
const REVOKED_KEY_MS = 90 * DAY_MS;
/** How long audit entries are stored: a year, including a leap day. */
const AUDIT_MS = 366 * DAY_MS;
/** Well beyond the window of the throttle. */
const TEST_SEND_MS = 10 * MINUTE_MS;

/** Rows changed in one commit, which takes the store's writer about 10 ms. */
const AT_ONCE = 500;
/** Links between a source and its signals: about 3 ms. */
const LINKS_AT_ONCE = 2_000;
/** A few hundred rows each. */
const ENDPOINTS_AT_ONCE = 50;

export interface HousekeepingDeps extends Omit<MailDeps, 'store'>, Pick<DigestDeps, 'newId'> {
  store: Store;
  clock: Clock;
  /** Called with the number of dead letters that expired. */
  onExpired?(count: number): void;
}

/**
 * The periodic jobs, in lines of those that run one after the other. Each can be interrupted and run again, and resumes where it
 * stopped. Jobs that tenants can make arbitrarily long have lines of their own: a slow mail server, millions of past events, or
 * thousands of messages.
 */
export function housekeepingJobs(deps: HousekeepingDeps): PeriodicJob[][] {
  const mail: PeriodicJob = {
    name: 'mail',
    everyMs: 5 * SECOND_MS,
    run: (isStopping) => workOutbox(deps, isStopping),
  };
  const backfills: PeriodicJob = {
    name: 'backfills',
    everyMs: 2 * SECOND_MS,
    run: (isStopping) => backfillEndpoints(deps, isStopping),
  };
  const batches: PeriodicJob = {
    name: 'batches',
    everyMs: 15 * SECOND_MS,
    run: (isStopping) => sendBatches(deps, isStopping),
  };
  const others: PeriodicJob[] = [
    { name: 'notices', everyMs: 2 * SECOND_MS, run: (isStopping) => announceNotices(deps, isStopping) },
    { name: 'remainders', everyMs: 2 * SECOND_MS, run: (isStopping) => storeRemainders(deps, isStopping) },
    { name: 'digests', everyMs: 15 * SECOND_MS, run: (isStopping) => makeDigests(deps, isStopping) },
    {
      name: 'subscriptions',
      everyMs: 15 * SECOND_MS,
      run: (isStopping) => endSubscriptions(deps, isStopping),
    },
    { name: 'trials', everyMs: MINUTE_MS, run: () => endTrials(deps) },
    { name: 'expiry', everyMs: MINUTE_MS, run: (isStopping) => expireDeliveries(deps, isStopping) },
    { name: 'search', everyMs: MINUTE_MS, run: (isStopping) => restoreSearch(deps, isStopping) },
    { name: 'retention', everyMs: HOUR_MS, run: (isStopping) => forgetOld(deps, isStopping) },
  ];
  return [[mail], [backfills], [batches], others];
}

/**
 * Ends deliveries that were held too long, expires old dead letters, and discards deliveries to deleted
 * endpoints.
 */
export async function expireDeliveries(
  { store, clock, onExpired }: Pick<HousekeepingDeps, 'store' | 'clock' | 'onExpired'>,
  isStopping: IsStopping = () => false,
): Promise<void> {
  const now = clock.now();
  const limit = AT_ONCE;
  await inChunks(isStopping, () =>
    store.endHeld({ heldBefore: now - HELD_MS, deadUntil: now + DEAD_LETTER_MS, limit }),
  );
  for (let count = limit; count > 0 && !isStopping(); ) {
    count = await store.expireDead({ now, limit });
    onExpired?.(count);
  }
  await inChunks(isStopping, () => store.discardOfDeleted(limit));
}

/** Makes signals searchable again whose post was about to change when a process ended. */
async function restoreSearch({ store }: HousekeepingDeps, isStopping: IsStopping): Promise<void> {
  while (!isStopping() && (await store.restoreSearch()));
}

/** Deletes everything past its retention period. */
export async function forgetOld(
  { store, clock }: Pick<HousekeepingDeps, 'store' | 'clock'>,
  isStopping: IsStopping = () => false,
): Promise<void> {
  const now = clock.now();
  for (let after: string | null = ''; after !== null && !isStopping(); )
    after = await store.tidyAttemptHours({ now, after, limit: ENDPOINTS_AT_ONCE });
  while (!isStopping() && (await store.pruneSources(LINKS_AT_ONCE)));
  await inChunks(isStopping, () => store.pruneHolds(now, AT_ONCE));
  await inChunks(isStopping, () => store.pruneAttempts(now - LOG_MS, AT_ONCE));
  for (let ids = await store.tenantIdsAfter('', AT_ONCE); ids.length > 0 && !isStopping(); ) {
    for (const id of ids) await forgetDeliveries(store, id, now - LOG_MS, isStopping);
    ids = await store.tenantIdsAfter(ids.at(-1) ?? '', AT_ONCE);
  }
  await inSteps(isStopping, () => store.pruneEndpoints(now - LOG_MS, AT_ONCE));
  await inSteps(isStopping, () => store.pruneJobs(now - JOB_MS, AT_ONCE));
  await inChunks(isStopping, () => store.pruneMail(now - MAIL_MS, AT_ONCE));
  await inChunks(isStopping, () => store.pruneKeys(now - REVOKED_KEY_MS, AT_ONCE));
  await inChunks(isStopping, () => store.pruneNearKeys(now - NEAR_WINDOW_MS, AT_ONCE));
  await inSteps(isStopping, () => store.pruneBodyTails(AT_ONCE));
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

/**
 * Repeats a step until it processes less than a full chunk. Each step is a separate commit, so that others
 * are not blocked.
 */
async function inChunks(isStopping: IsStopping, step: () => Promise<number>): Promise<void> {
  let done = AT_ONCE;
  while (done >= AT_ONCE && !isStopping()) done = await step();
}

/** The same for steps that process fewer rows if these are long: until there is nothing left. */
async function inSteps(isStopping: IsStopping, step: () => Promise<number>): Promise<void> {
  while (!isStopping() && (await step()) > 0);
}

/** Stores deliveries that their process did not store before it ended ({@link RoutedEvent.remainders}). */
export async function storeRemainders(
  { store }: { store: Pick<Store, 'listRemainders' | 'storeRemainder'> },
  isStopping: IsStopping = () => false,
): Promise<void> {
  for (const remainder of await store.listRemainders(AT_ONCE)) {
    if (isStopping()) return;
    await store.storeRemainder(remainder);
  }
}

interface NoticeDeps extends Omit<RouteDeps, 'store'> {
  store: RouteDeps['store'] & NoticeStore & EndpointStore;
}

/** Maximum number of notices in a commit; fewer if they go to many endpoints. */
const NOTICES_A_COMMIT = 200;

/**
 * Creates events for everything that happened to endpoints and deliveries since the last run, each exactly
 * once. Tenants take turns, one commit each: thousands of dead letters of one do not delay the notices of others.
 */
export async function announceNotices(
  deps: NoticeDeps,
  isStopping: () => boolean = () => false,
): Promise<void> {
  let tenants: string[];
  do {
    tenants = await deps.store.listNoticeTenants();
    for (const tenantId of tenants) {
      if (isStopping()) return;
      await announceSome(deps, tenantId);
    }
  } while (tenants.length > 0);
}

async function announceSome(deps: NoticeDeps, tenantId: string): Promise<void> {
  const { store } = deps;
  const endpoints = new Map((await store.listReceivers(tenantId)).map((each) => [each.id, each]));
  const limit = Math.ceil(MOST_DELIVERIES_A_COMMIT / (endpoints.size + 1));
  const notices = await store.listNotices(tenantId, Math.min(limit, NOTICES_A_COMMIT));
  if (notices.length === 0) return; // another process was faster
  const changes = notices.map((notice) => changeOf(notice, endpoints.get(notice.endpointId)));
  const events = await routeChanges(deps, tenantId, changes);
  await store.commitNotices({ tenantId, ids: notices.map(({ id }) => id), events });
}

/** `endpoint` is undefined if it was deleted meanwhile. */
function changeOf({ type, endpointId, facts }: EndpointNotice, endpoint: Receiver | undefined): StateChange {
  const { label = '', url = '' } = endpoint?.settings ?? {};
  const about = { endpoint_id: endpointId, label, host: parseUrl(url)?.host ?? '' };
  const subjectId = type === 'delivery.dead' ? String(facts.delivery_id) : endpointId;
  return { type, subjectId, data: { ...about, ...facts }, notTo: endpointId };
}

interface BackfillDeps {
  store: Store;
  clock: Clock;
  newId: NewId;
}

/** Events read per commit: the maximum, and the number for the first step. */
const STEP_EVENTS = { most: 100, first: 25 };
const BACKFILLS_AT_ONCE = 20;
const SIGNAL_EVENTS: ReadonlySet<string> = new Set(['signal.detected', 'signal.new_hot']);

/** Delivers earlier events to endpoints that requested them, in turn one step of each. */
export async function backfillEndpoints(
  deps: BackfillDeps,
  isStopping: () => boolean = () => false,
): Promise<void> {
  const limits = new Map<string, number>();
  let isAnyDone = true;
  while (isAnyDone) {
    isAnyDone = false;
    for (const backfill of await deps.store.listBackfills(BACKFILLS_AT_ONCE)) {
      if (isStopping()) return;
      if (await step(deps, backfill, limits)) isAnyDone = true;
    }
  }
}

/** `limits`: the number of events that the next step of each endpoint reads. */
async function step(
  deps: BackfillDeps,
  { position, from, until, ...ids }: Backfill,
  limits: Map<string, number>,
): Promise<boolean> {
  const { store, clock } = deps;
  const { tenantId, endpointId } = ids;
  const receiver = await findReceiver(deps, tenantId, endpointId);
  if (receiver === undefined) return false;
  const read = (limit: number) =>
    store.listStoredEvents(tenantId, {
      ...{ types: receiver.settings.event_types, from, to: until + 1, limit },
      after: position === 0 ? null : [position],
    });
  const { page, limit, isSmall } = await readSmallPage(read, limits.get(endpointId) ?? STEP_EVENTS.first);
  limits.set(endpointId, isSmall ? Math.min(STEP_EVENTS.most, limit * 4) : limit);
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

/**
 * The delivery of an event to the endpoint; none if it was routed to it before, is filtered out, or was
 * erased.
 */
async function itemsOf(
  { store, newId }: BackfillDeps,
  { deliveries, batched, skips, ...event }: RecordedEvent,
  receiver: Receiver,
): Promise<BackfillStep['items']> {
  const routed = [...deliveries, ...skips].map(({ endpointId }) => endpointId);
  if ([...routed, ...batched].includes(receiver.id)) return [];
  if (!SIGNAL_EVENTS.has(event.type)) {
    // The data of an erased event is empty.
    if (event.data === ERASED_DATA) return [];
    const made = await fanOut(event, createEnvelopes(event), [receiver], newId, null);
    return made.deliveries.map((delivery) => ({ event, delivery }));
  }
  const found = await store.getSignal(event.tenantId, event.subjectId);
  const signal = found === null ? null : (JSON.parse(found.wire) as Signal);
  if (signal === null || signal.excerpt === '') return [];
  const envelopes = createEnvelopes(event);
  const bodyOf = ({ shape }: Receiver) =>
    event.type === 'signal.detected' || shape?.preset ? shapedPayload(signal, shape) : envelopes({ shape });
  const made = await fanOut(event, bodyOf, [receiver], newId, signal);
  return made.deliveries.map((delivery) => ({ event, delivery }));
}
