import { expect, test } from 'vitest';
import { systemClock as clock } from '../../src/lib/clock.ts';
import type { Cursors } from '../../src/lib/cursor.ts';
import type { Store } from '../../src/store/store.ts';
import { pollOccurrences } from '../../src/webhooks/subscriptions.ts';
import { T0 } from '../support/store.ts';
import { countTurns } from '../support/turn.ts';

// With arguments, the signals of each event's lead are read: of fifty events, that took 0.2 s and more in one piece.
test('a poll lets others have their turn between events', async () => {
  const event = { tenantId: 'ten_a', type: 'lead.created', subjectId: 'led_1', createdAt: T0, data: '{}' };
  const store = {
    listStoredEvents: async () => ({
      rows: Array.from({ length: 10 }, (_, n) => ({ ...event, id: `evt_${n}` })),
      next: [50],
      hasMore: false,
    }),
    listScoresOfLead: async () => {
      for (const until = performance.now() + 6; performance.now() < until; ); // longer than a turn
      return [{ profileId: 'icp_a', score: 70 }];
    },
  } as unknown as Store;
  const cursors = { encode: () => 'cursor', decode: () => [0, clock.now()] } as unknown as Cursors;

  const turns = countTurns();
  const request = {
    name: 'lead.created',
    arguments: { min_score: 50 },
    cursor: 'cursor',
    limit: 50,
  } as const;
  const { events } = await pollOccurrences({ store, clock, cursors }, 'ten_a', request);
  expect(events).toHaveLength(10);
  expect(turns()).toBeGreaterThanOrEqual(5);
});
