import { expect, test } from 'vitest';
import { DomainError } from '../../src/model/errors.ts';
import { createCommitMeter } from '../../src/store/commit-meter.ts';
import { createManualClock } from '../support/manual-clock.ts';

test('a hanging commit shows its duration so far, and is measured once it has ended', () => {
  const clock = createManualClock();
  const meter = createCommitMeter(clock);
  const end = meter.begin(1);
  clock.advance(20_000);
  expect([meter.underWaySeconds, meter.seconds.sum]).toEqual([20, 0]);
  end([{ index: 0, error: new DomainError('CONFLICT', 'Taken.') }]);
  expect([meter.underWaySeconds, meter.seconds.sum, meter.refused]).toEqual([0, 20, 0]);
});
