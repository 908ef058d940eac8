import type { Clock } from '../lib/clock.ts';
import type { NewId } from '../lib/ids.ts';
import type { EventType, RoutedEvent } from '../model/event.ts';
import type { AccountStore } from '../store/account-store.ts';
import type { EndpointStore } from '../store/endpoint-store.ts';
import { createEnvelopes } from './envelopes.ts';
import { fanOut } from './fan-out.ts';
import type { Notice } from './presets/notice.ts';
import { listReceivers } from './receivers.ts';

/** Something that changed and whom it is about; `data` holds `previous` and `current` where a state changed. */
export interface StateChange {
  type: Exclude<EventType, 'signal.detected' | 'signal.new_hot'>;
  subjectId: string;
  data: Record<string, unknown>;
  /** The endpoint that it is about, and that is not sent it. */
  notTo?: string;
  /** What messages say of it; left out: what its data comes to. */
  notice?: Notice;
}

export interface RouteParts {
  store: EndpointStore & Pick<AccountStore, 'getTenant'>;
  clock: Clock;
  newId: NewId;
  /** What is being traced as the change is made, as `joinTrace` writes it; null or left out: nothing. */
  trace?: string | null;
}

/** The events of a change with their deliveries, to be committed together with the change itself. */
export async function routeChanges(
  { store, clock, newId, trace = null }: RouteParts,
  tenantId: string,
  changes: readonly StateChange[],
): Promise<RoutedEvent[]> {
  if (changes.length === 0) return [];
  const receivers = await listReceivers({ store, clock }, tenantId);
  const createdAt = clock.now();
  return changes.map(({ type, subjectId, data, notTo = null, notice }) => {
    const event = {
      id: newId('evt'),
      tenantId,
      type,
      subjectId,
      data: JSON.stringify(data),
      createdAt,
      trace,
    };
    return fanOut(event, createEnvelopes(event, notice), receivers, newId, null, { notTo });
  });
}
