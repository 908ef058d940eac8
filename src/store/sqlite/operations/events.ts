import type { Database } from 'better-sqlite3';
import type { RoutedEvent } from '../../../model/event.ts';
import { createDeliverySql } from '../tables/deliveries.ts';
import { createEventSql } from '../tables/events.ts';

/** Stores an event with every delivery it causes and the reason for each it does not: part of the change that caused it. */
export function createEventWriter(db: Database): (routed: RoutedEvent) => void {
  const events = createEventSql(db);
  const deliveries = createDeliverySql(db);

  return ({ event, deliveries: made, skipped }) => {
    events.insert(event);
    for (const delivery of made) deliveries.insert(event, delivery);
    for (const { endpointId, reason } of skipped) events.insertSkip(event.id, endpointId, reason);
  };
}
