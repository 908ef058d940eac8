import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NewSignal } from '../../src/store/signal-store.ts';
import { inCommits, type PlannedSignal, routedInCommits } from '../../src/webhooks/signal-commits.ts';
import { aRoutedEvent, aSignal } from '../support/store.ts';

function withDeliveries(count: number, length: number): NewSignal {
  const endpoints = Array.from({ length: count }, (_, n) => `whk_${n}`);
  return aSignal('ten_a', { text: 'x'.repeat(length), events: [aRoutedEvent('ten_a', endpoints)] });
}

/** The signal without its events, which are pushed to `routed` when they are created. */
function asPlanned({ events, ...signal }: NewSignal, routed: NewSignal['events'][] = []): PlannedSignal {
  return {
    ...signal,
    async route() {
      routed.push(events);
      return events;
    },
  };
}

test('planned signals are divided into the same commits as routed ones, in order', async () => {
  const sizes = fc.array(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 1, max: 60_000 })), {
    maxLength: 40,
  });
  await fc.assert(
    fc.asyncProperty(sizes, async (given) => {
      const signals = given.map(([deliveries, length]) => withDeliveries(deliveries, length));
      const commits: NewSignal[][] = [];
      for await (const commit of routedInCommits(signals.map((signal) => asPlanned(signal))))
        commits.push(commit);
      expect(commits).toEqual(inCommits(signals));
    }),
    { numRuns: 50 },
  );
});

// One post with 990 signals for 10,000 webhooks, all routed before any was stored, ended the process.
test('signals are routed only when their commit is next', async () => {
  const signals = Array.from({ length: 10 }, () => withDeliveries(100, 10));
  const routed: NewSignal['events'][] = [];
  const stored: number[] = [];
  for await (const commit of routedInCommits(signals.map((signal) => asPlanned(signal, routed)))) {
    stored.push(commit.length);
    const isLast = stored.length === 5;
    expect(routed).toHaveLength(stored.length * 2 + (isLast ? 0 : 1)); // the one that did not fit
  }
  expect(stored).toEqual([2, 2, 2, 2, 2]);
});
