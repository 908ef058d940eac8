import type { Clock } from '../lib/clock.ts';
import { DomainError } from '../model/errors.ts';
import type { EventType } from '../model/event.ts';
import type { Position } from '../model/page.ts';
import type { DeliveryLogStore, ReplayableStatus, ReplayResult } from '../store/delivery-log-store.ts';

/** Deliveries looked at in one commit: about 10 ms of the store's writer. */
const REPLAYED_AT_ONCE = 500;

interface ReplayParts {
  store: DeliveryLogStore;
  clock: Clock;
}

/** Which of an endpoint's deliveries to send again: those made from `from` on and before `to`, that ended as `status`. */
export interface ReplayOrder {
  endpointId: string;
  status: ReplayableStatus;
  from: number | null;
  to: number | null;
  /** Empty: of any. */
  eventTypes?: readonly EventType[];
}

/** Sends one delivery again, under its own id. @throws DomainError `NOT_FOUND`, `CONFLICT` where it cannot be */
export async function replayDelivery(parts: ReplayParts, tenantId: string, id: string): Promise<void> {
  const result = await parts.store.replayDelivery(tenantId, id, parts.clock.now());
  if (result.outcome !== 'replayed') throw refusal(result.outcome, id);
}

/** Sends all of an order again, a part a commit, and the first of it before the last is stored; how many there were. */
export async function replayAll(parts: ReplayParts, tenantId: string, order: ReplayOrder): Promise<number> {
  const { eventTypes = [] } = order;
  if (eventTypes.length === 0) return await replayRange(parts, tenantId, order, {});
  let count = 0;
  for (const eventType of new Set(eventTypes)) {
    count += await replayRange(parts, tenantId, order, { eventType });
  }
  return count;
}

/** Sends these of an endpoint's deliveries again that can be; how many there were. */
export async function replayListed(
  parts: ReplayParts,
  tenantId: string,
  { endpointId, ids }: Pick<ReplayOrder, 'endpointId'> & { ids: string[] },
): Promise<number> {
  return await parts.store.replayList({ tenantId, endpointId, ids, now: parts.clock.now() });
}

async function replayRange(
  parts: ReplayParts,
  tenantId: string,
  order: ReplayOrder,
  only: { eventType?: EventType },
): Promise<number> {
  const now = parts.clock.now();
  let count = 0;
  let after: Position | null = null;
  do {
    const part = await parts.store.replayRange({
      ...{ tenantId, endpointId: order.endpointId, status: order.status, from: order.from, ...only },
      ...{ to: order.to ?? now + 1, after, limit: REPLAYED_AT_ONCE, now },
    });
    count += part.replayed;
    after = part.next;
  } while (after !== null);
  return count;
}

const REASONS = {
  waiting: 'has not finished yet: an attempt is scheduled, or it is held',
  rejected: 'is larger than 256 KB and is never sent',
  no_body: 'can no longer be sent: its payload is no longer stored',
  pull: 'belongs to an endpoint that is read from its feed',
  no_endpoint: 'belongs to an endpoint that was deleted',
} as const;

function refusal(outcome: Exclude<ReplayResult['outcome'], 'replayed'>, id: string): DomainError {
  if (outcome === 'absent') return new DomainError('NOT_FOUND', `There is no delivery "${id}".`);
  return new DomainError('CONFLICT', `The delivery "${id}" ${REASONS[outcome]}.`);
}
