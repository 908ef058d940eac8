import { expect, test } from 'vitest';
import type { RoutedEvent } from '../../src/model/event.ts';
import type { AnyChange } from '../../src/store/script.ts';
import { remaindersOf, storedEvents, storesEvents } from '../../src/store/stored-events.ts';
import { aRoutedEvent, aSignal } from '../support/store.ts';

const large: RoutedEvent = {
  ...aRoutedEvent('ten_a', ['whk_a'], { id: 'evt_1' }),
  remainders: [
    { bundles: [{ body: '{}', status: 'pending', deliveries: '["dlv_1","whk_b"]' }], batched: [] },
    { bundles: [], batched: ['whk_c'] },
  ],
};
const small = aRoutedEvent('ten_a', ['whk_a']);
const signal = aSignal('ten_a', { events: [small, large] });

const created = [{ status: 'created' }];
const known = [{ status: 'duplicate' }];

test.each([
  ['commitSignals', [[signal]], created, known],
  ['commitSignalsInHand', [[signal], {}], { committed: created, taken: [] }, { committed: known, taken: [] }],
  ['addRunSignals', [{}, [signal]], created, null],
  ['finishSourceRun', [{ signals: [signal] }], created, null],
  ['editSignals', [[{ signal, now: 0 }]], [{ isHotNow: true }], [{ isHotNow: false }]],
  ['createCampaign', [{}, [small, large]], undefined, null],
  ['updateCampaign', [{}, 1, [small, large]], true, false],
  ['recordCampaignEvents', ['cmp_1', [{ events: [small, large] }]], ['created'], ['duplicate']],
  ['commitNotices', [{ events: [small, large] }], true, false],
  ['commitLead', [{ events: [small], newSignals: [{ ...signal, events: [large] }] }], true, false],
] as [string, unknown[], unknown, unknown][])(
  '%s stores the events that its result shows',
  (name, args, done, not) => {
    const kept = { request: {}, token: 't', item: '', name, args, by: null };
    for (const call of [
      [name, args],
      ['makeKept', [kept]],
    ] as AnyChange[]) {
      expect(storesEvents(call)).toBe(true);
      expect(storedEvents(call, done)).toEqual([small, large]);
      if (not !== null || name !== 'createCampaign') expect(storedEvents(call, not)).toEqual([]);
    }
  },
);

test('a digest may store no event', () => {
  expect(storedEvents(['commitDigest', [{ event: large }]], true)).toEqual([large]);
  expect(storedEvents(['commitDigest', [{ event: null }]], true)).toEqual([]);
});

test('other changes store none', () => {
  const call: AnyChange = ['recordDelivered', ['dlv_1', 'att_1', 1, 0, 1, '{}', 'whk_1']];
  expect(storesEvents(call)).toBe(false);
  expect(storedEvents(call, undefined)).toEqual([]);
});

test('events have a remainder for each of their lists, in order', () => {
  expect(remaindersOf([small, large])).toEqual(
    [0, 1].map((part) => ({ tenantId: 'ten_a', eventId: 'evt_1', part })),
  );
});
