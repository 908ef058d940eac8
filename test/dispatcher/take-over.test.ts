import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createIds } from '../../src/lib/ids.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { tempFolder } from '../store/sqlite/temp-folder.ts';
import { startReceiver } from '../support/receiver.ts';
import { openTestStore } from '../support/store.ts';
import { createHarness, settle } from './harness.ts';

const LOOK_AROUND_MS = 15_000;
const LIMIT = 5;

test('after a takeover, requests that the previous process sent in the last 60 s count towards the rate limit', async () => {
  const receiver = await startReceiver();
  const file = join(tempFolder(), 'store.db');
  const { clock, dispatcher, endpoint, enqueue, committed } = await createHarness({ file });
  const { id } = await endpoint({ url: receiver.url, rate_limit_per_minute: LIMIT });
  await dispatcher.start();

  const other = (await openTestStore({ clock, file })).store;
  await other.recoverDeliveries({ own: true });
  await enqueue(id, LIMIT + 2);
  const [claim] = await other.claimDeliveries({
    lanes: [{ endpointId: id, limit: LIMIT, knownVersion: -1, held: [] }],
    now: clock.now(),
    leaseUntil: clock.now() + 75_000,
    leaseToken: 'of another process',
  });
  // The ID of an attempt contains its time, which is used to find those of the last minute.
  const newId = createIds(clock, systemRandom);
  for (const delivery of claim?.deliveries ?? []) {
    await other.recordOutcome({
      ...{ deliveryId: delivery.id, endpointId: id, at: clock.now(), gone: false, probe: false },
      attempt: {
        ...{
          id: newId('att'),
          attempt: 1,
          startedAt: clock.now(),
          durationMs: 1,
          sent: null,
        },
        ...{ response: { status: 200, headers: {}, body: '' }, error: null, timings: {} },
      },
      next: { status: 'delivered' },
      streak: 'reset',
    });
  }
  await other.close();

  for (let passed = 0; passed < 45_000; passed += LOOK_AROUND_MS) {
    clock.advance(LOOK_AROUND_MS);
    await settle(50);
  }
  expect(receiver.requests).toHaveLength(0);
  clock.advance(16_000);
  await committed(2);
  expect(receiver.requests).toHaveLength(2);
  await dispatcher.stop(0);
  await receiver.close();
});
