import { expect, test } from 'vitest';
import { DomainError } from '../../src/model/errors.ts';
import { createCommitMeter } from '../../src/store/commit-meter.ts';
import type { Committed } from '../../src/store/write-queue.ts';
import { createManualClock } from '../support/manual-clock.ts';

test('a commit that does not end shows its age, and is measured once it has ended', async () => {
  const clock = createManualClock();
  const meter = createCommitMeter(clock);
  const { promise, resolve } = Promise.withResolvers<Committed>();
  const committed = meter.measure(() => promise)(['a change']);
  clock.advance(20_000);
  expect([meter.underWaySeconds, meter.seconds.sum]).toEqual([20, 0]);
  resolve({ values: [1], failed: [{ index: 0, error: new DomainError('CONFLICT', 'Taken.') }] });
  await committed;
  expect([meter.underWaySeconds, meter.seconds.sum, meter.refused]).toEqual([0, 20, 0]);
});
