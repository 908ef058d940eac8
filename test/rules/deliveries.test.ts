import { expect, test } from 'vitest';
import { endUndelivered, replayRefusal } from '../../src/rules/deliveries.ts';
import { T0 } from '../support/store.ts';

test('a delivery out of retries becomes a dead letter if the endpoint keeps them, otherwise it is discarded', () => {
  expect(endUndelivered(true, T0)).toEqual({ status: 'dead', expiresAt: T0 });
  expect(endUndelivered(false, T0)).toEqual({ status: 'discarded' });
});

const ended = { status: 'dead', hasBody: true, endpointDeleted: false, isPull: false } as const;

test.each([
  ['that has ended can be', ended, null],
  ['that was delivered can be', { ...ended, status: 'delivered' } as const, null],
  ['that is waiting cannot be', { ...ended, status: 'retrying' } as const, 'waiting'],
  ['that was rejected as too large cannot be', { ...ended, status: 'rejected' } as const, 'rejected'],
  ['without a stored body cannot be', { ...ended, hasBody: false }, 'no_body'],
  ['to a deleted endpoint cannot be', { ...ended, endpointDeleted: true }, 'no_endpoint'],
  ['to a pull endpoint cannot be', { ...ended, isPull: true }, 'pull'],
])('a delivery %s replayed', (_, delivery, refusal) => {
  expect(replayRefusal(delivery)).toBe(refusal);
});
