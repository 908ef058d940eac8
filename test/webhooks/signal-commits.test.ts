import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NewSignal } from '../../src/store/signal-store.ts';
import { type PlannedSignal, routedInCommits } from '../../src/webhooks/signal-commits.ts';
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

test('commits are in order, as full as possible, and none is overfull unless its only signal is large', async () => {
  const sizes = fc.array(fc.tuple(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 1, max: 60_000 })), {
    maxLength: 40,
  });
  const shareOf = ({ events, text }: NewSignal) =>
    Math.max(1 / 25, (events[0]?.deliveries.length ?? 0) / 250, text.length / 100_000);
  const filled = (signals: NewSignal[]) => signals.reduce((sum, signal) => sum + shareOf(signal), 0);
  await fc.assert(
    fc.asyncProperty(sizes, async (given) => {
      const signals = given.map(([deliveries, length]) => withDeliveries(deliveries, length));
      const commits: NewSignal[][] = [];
      for await (const commit of routedInCommits(signals.map((signal) => asPlanned(signal))))
        commits.push(commit);
      expect(commits.flat()).toEqual(signals);
      for (const [i, commit] of commits.entries()) {
        expect(commit.length).toBeGreaterThan(0);
        if (commit.length > 1) expect(filled(commit)).toBeLessThan(1.01);
        const next = commits[i + 1]?.slice(0, 1) ?? [];
        if (next.length > 0) expect(filled([...commit, ...next])).toBeGreaterThan(0.97);
      }
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

test('a signal whose event has further parts has a commit of its own', async () => {
  const signals = [1, 2, 3].map((count) => withDeliveries(count, 10));
  for (const { events } of signals.slice(1))
    for (const event of events) event.remainders = [{ bundles: [], batched: [] }];
  const commits: NewSignal[][] = [];
  for await (const commit of routedInCommits(signals.map((signal) => asPlanned(signal))))
    commits.push(commit);
  expect(commits.map(({ length }) => length)).toEqual([1, 1, 1]);
});
