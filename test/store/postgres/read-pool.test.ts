import { expect, test } from 'vitest';
import { createReadPool } from '../../../src/store/postgres/read-pool.ts';
import { createManualClock } from '../../support/manual-clock.ts';

/** A pool without a server, whose reads last until they are ended. */
function openPool() {
  const ends: (() => void)[] = [];
  let lines = 0;
  const { reads } = createReadPool({}, createManualClock(0), () => {
    const line = lines++;
    return {
      list: (_tenantId: string | { tenantId: string }, used: number[]) => {
        used.push(line);
        return new Promise<void>((resolve) => ends.push(resolve));
      },
    };
  });
  /** Starts reads, and returns the connections that they use. */
  function start(owner: string | { tenantId: string }, count: number): number[] {
    const used: number[] = [];
    for (let n = 0; n < count; n++) void reads.list(owner, used);
    return used;
  }
  return { start, endAll: () => ends.splice(0).map((end) => end()) };
}

test('slow reads of a few tenants leave connections to others', async () => {
  const { start, endAll } = openPool();
  const busiest = start('ten_a', 50);
  expect(new Set(busiest)).toEqual(new Set([0, 1, 2, 3]));
  const second = start({ tenantId: 'ten_b' }, 50);
  expect(new Set(second)).toEqual(new Set([4, 5]));
  expect(start('ten_c', 1)).toEqual([6]);
  expect(start('hash of a key', 1)).toEqual([7]);
  endAll();
  await Promise.resolve();
});

test('reads of one tenant are spread over the connections that it has', () => {
  const { start } = openPool();
  const used = start('ten_a', 40);
  for (const line of [0, 1, 2, 3]) expect(used.filter((each) => each === line)).toHaveLength(10);
});

test('a connection whose reads have ended is used again', async () => {
  const { start, endAll } = openPool();
  start('ten_a', 50);
  endAll();
  await new Promise((resolve) => setImmediate(resolve));
  expect(start('ten_b', 4)).toEqual([0, 1, 2, 3]);
});

test('damage is reported, and unavailable to callers', async () => {
  const noted: unknown[] = [];
  const damage = Object.assign(new Error('invalid page in block 3'), { code: 'XX001' });
  const list = () => Promise.reject(damage);
  const { reads } = createReadPool(
    {},
    createManualClock(0),
    () => ({ list }),
    (error) => noted.push(error),
  );
  const damaged = { code: 'UNAVAILABLE', extra: { storage: 'damaged' } };
  await expect(reads.list()).rejects.toMatchObject(damaged);
  expect(noted).toMatchObject([damaged]);
});
