import { expect, test } from 'vitest';
import { createDeadlines, type Expiring } from '../../src/dispatcher/deadlines.ts';
import type { Clock } from '../../src/lib/clock.ts';
import { createManualClock } from '../support/manual-clock.ts';

const item = (expired: string[], name: string): Expiring => ({
  deadline: 0,
  earlier: null,
  later: null,
  expire: () => void expired.push(name),
});

test('each request expires at its own deadline, whatever the order of their timeouts', () => {
  const clock = createManualClock();
  const deadlines = createDeadlines(clock);
  const expired: string[] = [];
  deadlines.add(item(expired, 'long'), 30_000);
  deadlines.add(item(expired, 'short'), 1_000);
  clock.advance(999);
  expect(expired).toEqual([]);
  clock.advance(1);
  expect(expired).toEqual(['short']);
  clock.advance(29_000);
  expect(expired).toEqual(['short', 'long']);
});

test('what ended in time never expires', () => {
  const clock = createManualClock();
  const deadlines = createDeadlines(clock);
  const expired: string[] = [];
  const done = item(expired, 'done');
  deadlines.add(done, 1_000);
  deadlines.remove(done, 1_000);
  clock.advance(5_000);
  expect(expired).toEqual([]);
});

test('requests that end in any order leave the others their deadlines', () => {
  for (const ended of [['a'], ['b'], ['c'], ['a', 'c'], ['b', 'c'], ['c', 'a', 'b']]) {
    const clock = createManualClock();
    const deadlines = createDeadlines(clock);
    const expired: string[] = [];
    const items = new Map(['a', 'b', 'c'].map((name) => [name, item(expired, name)]));
    for (const request of items.values()) deadlines.add(request, 1_000);
    for (const name of [...ended, ...ended]) deadlines.remove(items.get(name) as Expiring, 1_000);
    clock.advance(1_000);
    expect(expired).toEqual(['a', 'b', 'c'].filter((name) => !ended.includes(name)));
    for (const { earlier, later } of items.values()) expect([earlier, later]).toEqual([null, null]);
  }
});

test('after the process stood still, replies that came meanwhile are read before deadlines are looked at', async () => {
  let elapsed = 0;
  let fire = () => {};
  const clock: Clock = {
    now: () => elapsed,
    monotonic: () => elapsed,
    after(_, fn) {
      fire = fn;
      return { cancel: () => {} };
    },
  };
  const deadlines = createDeadlines(clock);
  const expired: string[] = [];
  const answered = item(expired, 'answered');
  const silent = item(expired, 'silent');
  for (const request of [answered, silent]) deadlines.add(request, 1_000);
  elapsed = 60_000; // a stop of a minute; then the timer, late, and the reply
  fire();
  expect(expired).toEqual([]);
  deadlines.remove(answered, 1_000);
  await new Promise((resolve) => setImmediate(resolve));
  expect(expired).toEqual(['silent']);
});
