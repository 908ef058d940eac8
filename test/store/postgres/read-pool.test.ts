import { expect, test } from 'vitest';
import { createReadPool } from '../../../src/store/postgres/read-pool.ts';
import { createManualClock } from '../../support/manual-clock.ts';

type Of = string | { tenantId: string } | { tenantId: string }[];

/** A pool without a server, whose reads last until they are ended. */
function openPool() {
  const ends: (() => void)[] = [];
  let lines = 0;
  const { reads } = createReadPool({}, createManualClock(0), () => {
    const line = lines++;
    return {
      list: (_of: Of, used: number[]) => {
        used.push(line);
        return new Promise<void>((resolve) => ends.push(resolve));
      },
    };
  });
  /** Starts reads, and returns the connections that they use. */
  function start(owner: Of, count: number): number[] {
    const used: number[] = [];
    for (let n = 0; n < count; n++) void reads.list(owner, used);
    return used;
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return {
    start,
    async endOne() {
      ends.shift()?.();
      await settled();
    },
    async endAll() {
      while (ends.length > 0) {
        for (const end of ends.splice(0)) end();
        await settled();
      }
    },
  };
}

test('slow reads of a few tenants leave connections to others', () => {
  const { start } = openPool();
  expect(start('ten_a', 50)).toEqual([0, 1, 2, 3]);
  expect(start({ tenantId: 'ten_b' }, 50)).toEqual([4, 5]);
  expect(start('ten_c', 50)).toEqual([6]);
  expect(start('hash of a key', 1)).toEqual([7]);
});

test('a tenant waits for one slow read, not for all reads that others have waiting', async () => {
  const { start, endOne } = openPool();
  for (const tenant of ['ten_a', 'ten_b', 'ten_c', 'ten_d', 'ten_e', 'ten_f', 'ten_g']) start(tenant, 50);
  const used = start('ten_new', 1);
  expect(used).toEqual([]);
  for (let ended = 0; used.length === 0 && ended < 10; ended++) await endOne();
  expect(used).toHaveLength(1);
});

test('reads that concern no single tenant are next, whoever else waits', async () => {
  const { start, endOne } = openPool();
  for (const tenant of ['ten_a', 'ten_b', 'ten_c', 'ten_d', 'ten_e']) start(tenant, 50);
  expect(start('hash of a key', 1)).toEqual([7]);
  const used = start('hash of another key', 2);
  expect(used).toEqual([]);
  await endOne();
  await endOne();
  expect(used).toHaveLength(2);
});

test('reads of several objects of a tenant are that tenant’s', () => {
  const { start } = openPool();
  start([{ tenantId: 'ten_a' }, { tenantId: 'ten_a' }], 50);
  expect(start('ten_b', 1)).toEqual([4]);
});

test('a connection whose reads have ended is used again', async () => {
  const { start, endAll } = openPool();
  start('ten_a', 50);
  await endAll();
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
