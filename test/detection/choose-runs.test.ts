import { expect, test } from 'vitest';
import { chooseRuns, type RunState } from '../../src/detection/poller.ts';

const due = (...names: string[]) =>
  names.map((name, dueAt) => {
    const [tenantId = '', host = ''] = name.split('@');
    return { id: name, tenantId, host, dueAt };
  });
const turns = (over: Partial<RunState> = {}): RunState => ({
  isBusy: () => false,
  running: new Map(),
  used: new Map(),
  places: 32,
  share: 8,
  ...over,
});
const idsOf = (...args: Parameters<typeof chooseRuns>) => chooseRuns(...args).map(({ id }) => id);

test('tenants take turns, regardless of how long they have waited', () => {
  expect(idsOf(due('a@1', 'a@2', 'a@3', 'b@4', 'c@5'), turns({ places: 3 }))).toEqual(['a@1', 'b@4', 'c@5']);
  expect(idsOf(due('a@1', 'b@2'), turns({ places: 1, running: new Map([['a', 1]]) }))).toEqual(['b@2']);
});

test('no tenant gets more than its share of the slots', () => {
  const many = due(...Array.from({ length: 20 }, (_, n) => `a@${n}`));
  expect(idsOf(many, turns({ running: new Map([['a', 5]]) }))).toHaveLength(3);
});

test('tenants with unresponsive sources leave room for others, in whatever order they come', () => {
  const running = new Map<string, number>();
  let places = 32;
  for (let n = 0; n < 12; n++) {
    const all = due(...Array.from({ length: 20 }, (_, i) => `${n}@${n}-${i}`));
    const held = idsOf(all, turns({ places, running })).length;
    running.set(String(n), held);
    places -= held;
    expect(idsOf(all, turns({ places, running }))).toEqual([]);
  }
  expect(idsOf(due('other@1'), turns({ places, running }))).toEqual(['other@1']);
});

test('one source per host is read at a time, and waiting for a host occupies no slot', () => {
  const all = due('a@x', 'b@x', 'c@busy', 'c@y');
  expect(idsOf(all, turns({ places: 2, isBusy: ({ host }) => host === 'busy' }))).toEqual(['a@x', 'c@y']);
});

test('among tenants with a source on the same host, the one that has used slots least is next', () => {
  const used = new Map([['a', 7], ['b', 3]]); // biome-ignore format: one line
  expect(idsOf(due('a@x', 'b@x'), turns({ used }))).toEqual(['b@x']);
});

test('a thousand tenants that wait for one host are looked at once each', () => {
  const all = due(...Array.from({ length: 1_000 }, (_, n) => `${n}@x`));
  let looks = 0;
  const used = { get: () => looks++ };
  expect(idsOf(all, turns({ used }))).toEqual(['0@x']);
  expect(looks).toBe(1_000);
});

test('a tenant that got a slot is next after those with as few runs', () => {
  const used = new Map([['a', 1], ['b', 9], ['c', 2]]); // biome-ignore format: one line
  const running = new Map([['c', 1]]);
  const all = due('c@1', 'c@2', 'b@3', 'a@4', 'a@5', 'a@6');
  expect(idsOf(all, turns({ used, running }))).toEqual(['a@4', 'b@3', 'a@5', 'c@1', 'a@6', 'c@2']);
});
