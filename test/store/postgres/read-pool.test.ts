import { expect, test } from 'vitest';
import { createReadPool } from '../../../src/store/postgres/read-pool.ts';
import { createManualClock } from '../../support/manual-clock.ts';

type Of = string | { tenantId: string } | { tenantId: string }[];

/** A pool without a server, whose reads last until they are ended. */
function openPool() {
  const clock = createManualClock(0);
  const ends: (() => void)[] = [];
  let lines = 0;
  const { reads } = createReadPool({}, clock, () => {
    const line = lines++;
    return {
      list: (_of: Of, used: number[]) => {
        used.push(line);
        return new Promise<void>((resolve) => ends.push(resolve));
      },
    };
  });
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return {
    clock,
    /** Starts reads, and returns the connections that they use, now and later. */
    async start(owner: Of, count: number): Promise<number[]> {
      const used: number[] = [];
      for (let n = 0; n < count; n++) void reads.list(owner, used);
      await settled();
      return used;
    },
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

const TENANTS = ['ten_a', 'ten_b', 'ten_c', 'ten_d', 'ten_e', 'ten_f', 'ten_g', 'ten_h'];

test('slow reads of a few tenants leave connections to others', async () => {
  const { start } = openPool();
  expect(await start('ten_a', 50)).toEqual([0, 1, 2, 3]);
  expect(await start({ tenantId: 'ten_b' }, 50)).toEqual([4, 5]);
  expect(await start('ten_c', 50)).toEqual([6]);
  expect(await start('hash of a key', 1)).toEqual([7]);
});

test('a tenant waits for one slow read, not for all reads that others have waiting', async () => {
  const { start, endOne } = openPool();
  for (const tenant of TENANTS) await start(tenant, 50);
  const used = await start('ten_new', 1);
  expect(used).toEqual([]);
  for (let ended = 0; used.length === 0 && ended < 12; ended++) await endOne();
  expect(used).toHaveLength(1);
});

test('of the reads that wait, that of the tenant whose reads took least is next', async () => {
  const { start, endOne, clock } = openPool();
  for (const tenant of TENANTS) await start(tenant, 50);
  for (let ended = 0; ended < 20; ended++) {
    clock.advance(20);
    await endOne();
  }
  const used = await start('ten_new', 1);
  for (let ended = 0; used.length === 0 && ended < 4; ended++) await endOne();
  expect(used).toHaveLength(1);
});

test('tenants of slow reads leave a connection to others', async () => {
  const { start, endOne, clock } = openPool();
  for (const tenant of TENANTS) await start(tenant, 50);
  for (let ended = 0; ended < 40; ended++) {
    clock.advance(100);
    await endOne();
  }
  expect(await start('ten_new', 1)).toHaveLength(1);
});

test('reads that concern no single tenant do not wait for those of tenants', async () => {
  const { start, endOne } = openPool();
  for (const tenant of TENANTS) await start(tenant, 50);
  expect(await start('hash of a key', 1)).toEqual([7]);
  const used = await start('hash of another key', 1);
  expect(used).toEqual([]);
  await endOne();
  expect(used).toHaveLength(1);
});

test('reads of several objects of a tenant are that tenant’s', async () => {
  const { start } = openPool();
  await start([{ tenantId: 'ten_a' }, { tenantId: 'ten_a' }], 50);
  expect(await start('ten_b', 1)).toEqual([4]);
});

test('a connection whose reads have ended is used again', async () => {
  const { start, endAll } = openPool();
  await start('ten_a', 50);
  await endAll();
  expect(await start('ten_b', 4)).toEqual([0, 1, 2, 3]);
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
