import { expect, test } from 'vitest';
import { createAgenda } from '../../src/dispatcher/agenda.ts';
import { createClaimedBytes } from '../../src/dispatcher/claimed-bytes.ts';
import { createSlots } from '../../src/dispatcher/slots.ts';
import { systemClock } from '../../src/lib/clock.ts';

test.each(['throttled', 'giveBackAll'] as const)(
  '%s goes through all endpoints in turns of the event loop',
  async (work) => {
    let readings = 0;
    // Each reading takes a millisecond, as if the machine were slow.
    const clock = { ...systemClock, monotonic: () => readings++ };
    const wakeUp = { soon() {}, atOnce() {}, listen() {} };
    const agenda = createAgenda({
      clock,
      slots: createSlots(systemClock, () => {}),
      claimedBytes: createClaimedBytes(),
      wakeUp,
    });
    for (let n = 0; n < 100; n++) agenda.due(`whk_${n}`, 'ten_a', systemClock.now());
    agenda.stop();
    let isLater = false;
    setImmediate(() => {
      isLater = true;
    });
    await agenda[work]();
    expect(isLater).toBe(true);
  },
);
