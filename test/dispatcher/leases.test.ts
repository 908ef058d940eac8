import { expect, test } from 'vitest';
import { handLimit, leaseEnd, leaseNeeded, WAIT_MS } from '../../src/dispatcher/claim.ts';

const SPARE_MS = leaseEnd(0) - leaseNeeded(0);

test('claimed deliveries may wait their full time, however long the claim waited for the writer, within the lease', () => {
  expect(handLimit(0, 0)).toBe(WAIT_MS);
  expect(handLimit(0, SPARE_MS) - SPARE_MS).toBe(WAIT_MS);
  expect(handLimit(0, 10 * SPARE_MS)).toBe(SPARE_MS + WAIT_MS);
});
