import { expect, test } from 'vitest';
import { endUndelivered, replayRefusal } from '../../src/rules/deliveries.ts';
import { T0 } from '../support/store.ts';

test('a delivery out of retries becomes a dead letter if the endpoint keeps them, otherwise it is discarded', () => {
  expect(endUndelivered(true, T0)).toEqual({ status: 'dead', expiresAt: T0 });
  expect(endUndelivered(false, T0)).toEqual({ status: 'discarded' });
});

const ended = { status: 'dead', hasBody: true, endpointDeleted: false, isPull: false } as const;

test.each([
  ['that has ended is', ended, null],
  ['that was delivered is', { ...ended, status: 'delivered' } as const, null],
  ['that waits is not', { ...ended, status: 'retrying' } as const, 'waiting'],
  ['that a filter rejected is not', { ...ended, status: 'rejected' } as const, 'rejected'],
  ['whose body is not kept is not', { ...ended, hasBody: false }, 'no_body'],
  ['whose endpoint is deleted is not', { ...ended, endpointDeleted: true }, 'no_endpoint'],
  ['whose endpoint is read is not', { ...ended, isPull: true }, 'pull'],
])('a delivery %s replayed', (_, delivery, refusal) => {
  expect(replayRefusal(delivery)).toBe(refusal);
});
