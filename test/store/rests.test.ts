import { expect, test } from 'vitest';
import type { RoutedEvent } from '../../src/model/event.ts';
import { restsOf } from '../../src/store/rests.ts';
import type { AnyChange } from '../../src/store/script.ts';
import { aRoutedEvent, aSignal } from '../support/store.ts';

const large = (id: string): RoutedEvent => ({
  ...aRoutedEvent('ten_a', ['whk_a'], { id }),
  rests: [[{ body: '{}', status: 'pending', deliveries: '["dlv_1","whk_b"]' }], []],
});
const small = aRoutedEvent('ten_a', ['whk_a']);
const signal = aSignal('ten_a', { events: [small, large('evt_1')] });
const lead = { events: [large('evt_1'), small], newSignals: [signal] };
const partsOf = (eventId: string) => [0, 1].map((part) => ({ tenantId: 'ten_a', eventId, part }));

test.each([
  ['commitSignals', [[signal]]],
  ['addRunSignals', [{}, [signal]]],
  ['finishSourceRun', [{ signals: [signal] }]],
  ['editSignals', [[{ signal, now: 0 }]]],
  ['createCampaign', [{}, [large('evt_1')]]],
  ['updateCampaign', [{}, 1, [large('evt_1')]]],
  ['recordCampaignEvents', ['cmp_1', [{ events: [small] }, { events: [large('evt_1')] }]]],
  ['commitNotices', [{ events: [large('evt_1')] }]],
  ['commitDigest', [{ event: large('evt_1') }]],
] as AnyChange[])('the rests of the events that %s stores are found', (name, args) => {
  expect(restsOf([name, args])).toEqual(partsOf('evt_1'));
  const kept = { request: {}, token: 't', item: '', name, args, by: null };
  expect(restsOf(['makeKept', [kept]])).toEqual(partsOf('evt_1'));
});

test('those of a lead include its signals', () => {
  expect(restsOf(['commitLead', [lead]])).toEqual([...partsOf('evt_1'), ...partsOf('evt_1')]);
});

test('other changes have none', () => {
  expect(restsOf(['commitDigest', [{ event: null }]])).toEqual([]);
  expect(restsOf(['commitSignals', [[aSignal('ten_a', { events: [small] })]]])).toEqual([]);
  expect(restsOf(['recordDelivered', ['dlv_1', 'att_1', 1, 0, 1, '{}', 'whk_1']])).toEqual([]);
});
