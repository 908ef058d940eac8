import { expect, test } from 'vitest';
import { handLimit, leaseEnd, leaseNeeded, WAIT_MS } from '../../src/dispatcher/claim.ts';

const SPARE_MS = leaseEnd(0) - leaseNeeded(0);

test('what a claim brings may wait its whole time, however long the claim waited for the writer, as far as the lease allows', () => {
  expect(handLimit(0, 0)).toBe(WAIT_MS);
  expect(handLimit(0, SPARE_MS) - SPARE_MS).toBe(WAIT_MS);
  expect(handLimit(0, 10 * SPARE_MS)).toBe(SPARE_MS + WAIT_MS);
});
