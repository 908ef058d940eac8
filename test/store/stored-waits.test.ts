import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { createStoredWaits } from '../../src/store/stored-waits.ts';

test('calls of many tenants are looked at in turns of the event loop', async () => {
  let readings = 0;
  // Each reading takes a millisecond, as if the machine were slow.
  const clock = { ...systemClock, monotonic: () => readings++ };
  const turns = new Set<number>();
  const waits = createStoredWaits(clock, () => {
    turns.add(performance.nodeTiming.uvMetricsInfo.loopCount);
    return 0;
  });
  const { signal } = new AbortController();
  for (let n = 0; n < 8; n++) void waits.untilStored(`ten_${n}`, { kind: 'signals', after: [0] }, signal);
  turns.clear();
  waits.committed(() => ['']);
  await expect.poll(() => turns.size, { timeout: 500 }).toBeGreaterThan(1);
  waits.close();
});
