import type { Changes } from '../../src/store/changes.ts';
import { aLead, aNewLead } from './leads.ts';
import { anEndpoint, aRoutedEvent, aSignal, aTenant, T0 } from './store.ts';

type AnyCall = { [K in keyof Changes]: [K, Parameters<Changes[K]>] }[keyof Changes];

const lease = { now: T0, leaseUntil: T0 + 60_000, leaseToken: 'lease_1', process: 'p1' };
const request = { tenantId: 'ten_a', route: 'POST /v1/leads', key: 'k', fingerprint: 'f' };
export const actor = { tenantId: 'ten_a', actor: 'key_1', client: '' };
const failed = { streak: 'add', gone: false, probe: false, at: T0 } as const;

/** A day of an account: its endpoint, signals, their deliveries with what became of them, a lead and its erasure. */
export const DAY: AnyCall[] = [
  ['createTenant', [aTenant('ten_a')]],
  ['createEndpoint', [anEndpoint('ten_a', { id: 'whk_a' }), 10]],
  ['createEndpoint', [anEndpoint('ten_a', { id: 'whk_b' }), 1]],
  [
    'commitSignals',
    [
      [
        aSignal('ten_a', {
          id: 'sig_1',
          events: [aRoutedEvent('ten_a', ['whk_a'], { deliveryIds: ['dlv_1'], createdAt: T0 })],
        }),
        aSignal('ten_a', { id: 'sig_2', externalId: 'two' }),
        aSignal('ten_a', { id: 'sig_3', externalId: 'two' }),
      ],
    ],
  ],
  ['claimLanes', [{ lanes: [{ endpointId: 'whk_a', limit: 10, knownVersion: 1, held: '{}' }], ...lease }]],
  [
    'recordAttempt',
    [
      {
        ...{
          deliveryId: 'dlv_1',
          endpointId: 'whk_a',
          ...failed,
          next: { status: 'retrying', at: T0 + 5_000 },
        },
        attempt: { id: 'att_1', attempt: 1, startedAt: T0, durationMs: 3, detail: '{"response":null}' },
      },
    ],
  ],
  ['recordDelivered', ['dlv_1', 'att_2', 2, T0 + 5_000, 4, '{"response":null}']],
  ['bidForKey', [request, { token: 't1', now: T0, expiresAt: T0 + 1_000, process: 'p1', from: null }]],
  [
    'makeKept',
    [
      {
        ...{ request, token: 't1', item: '', name: 'commitLead', by: { ...actor, at: T0 } },
        args: [aNewLead('ten_a', aLead('led_1'), { attach: ['sig_1'] })],
      },
    ],
  ],
  ['answerKey', [request, 't1', { status: 201, location: null, body: '{"data":{"id":"led_1"}}' }]],
  ['pauseEndpoint', ['ten_a', 'whk_a', T0 + 9_000]],
  ['deleteSignal', ['ten_a', 'sig_2', T0 + 10_000]],
];
