import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import { addAll } from '../lib/lists.ts';
import { createYielder } from '../lib/yielding.ts';
import { ERASED_DATA } from '../model/constants.ts';
import type { Signal } from '../model/signal.ts';
import type { Receiver } from '../store/endpoint-store.ts';
import type { Backfill, BackfillStep, RecordedEvent } from '../store/event-store.ts';
import type { Store } from '../store/store.ts';
import { fanOut, listReceivers } from './fan-out.ts';
import { createEnvelopes, shapedPayload } from './payload.ts';

interface BackfillDeps {
  store: Store;
  clock: Clock;
  newId: NewId;
}

/** Events looked at for one commit. */
const STEP_EVENTS = 100;
const AT_ONCE = 20;
const SIGNAL_EVENTS: ReadonlySet<string> = new Set(['signal.detected', 'signal.new_hot']);

/** Gives endpoints the events of before they were made that they asked for, a step of each in turn. */
export async function backfillEndpoints(
  deps: BackfillDeps,
  isStopping: () => boolean = () => false,
): Promise<void> {
  let isAnyDone = true;
  while (isAnyDone) {
    isAnyDone = false;
    for (const backfill of await deps.store.listBackfills(AT_ONCE)) {
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
