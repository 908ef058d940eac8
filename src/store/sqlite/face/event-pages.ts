import type { Database } from 'better-sqlite3';
import type { Clock } from '../../../lib/clock.ts';
import { addAll } from '../../../lib/lists.ts';
import { createYielder } from '../../../lib/yielding.ts';
import type { EventStore, RecordedEvent } from '../../event-store.ts';
import { createEventPages } from '../reads/events.ts';
import { pageOf } from '../reads/pages.ts';

/** Events whose outcomes are read at once: of a thousand endpoints some 10 ms. */
const AT_ONCE = 4;

/** Pages of events: each has an outcome for every endpoint, and is read in pieces between which others have their turn. */
export function eventPageFace(
  db: Database,
  clock: Clock,
  read: <T>(query: () => T) => Promise<T>,
): Pick<EventStore, 'listEvents' | 'listStoredEvents'> {
  const pages = createEventPages(db);

  async function withOutcomes(rows: Parameters<typeof pages.withOutcomes>[0]): Promise<RecordedEvent[]> {
    const nextTurn = createYielder(clock);
    const events: RecordedEvent[] = [];
    for (let i = 0; i < rows.length; i += AT_ONCE) {
      addAll(events, await read(() => pages.withOutcomes(rows.slice(i, i + AT_ONCE))));
      await nextTurn();
    }
    return events;
  }

  return {
    async listEvents(tenantId, query) {
      const found = await read(() => pages.find(tenantId, query, query.limit + 1));
      const { rows, last } = pageOf(found, query.limit, {
        toRow: (event) => event,
        position: (event) => [event.createdAt, event.id],
      });
      return { rows: await withOutcomes(rows), last };
    },
    async listStoredEvents(tenantId, query) {
      const { rows, next, hasMore } = await read(() => pages.findStored(tenantId, query));
      return { count: rows.length, rows: await withOutcomes(rows), next, hasMore };
    },
  };
}
