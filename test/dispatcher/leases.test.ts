import { expect, test } from 'vitest';
import { handLimit, leaseEnd, leaseNeeded, WAIT_MS } from '../../src/dispatcher/claim.ts';

const SPARE_MS = leaseEnd(0) - leaseNeeded(0);

test('within the lease, claimed deliveries may wait their full time, even after a slow claim', () => {
  expect(handLimit(0, 0)).toBe(WAIT_MS);
  expect(handLimit(0, SPARE_MS) - SPARE_MS).toBe(WAIT_MS);
  expect(handLimit(0, 10 * SPARE_MS)).toBe(SPARE_MS + WAIT_MS);
});
