import { expect, test } from 'vitest';
import { DomainError } from '../../src/model/errors.ts';
import { createStorageWatch, refuseDamage, type StorageChange } from '../../src/store/storage-watch.ts';
import { createManualClock } from '../support/manual-clock.ts';

const full = new DomainError('UNAVAILABLE', 'The storage is full.', { storage: 'full' });
full.cause = new Error('database or disk is full');
const locked = new DomainError('UNAVAILABLE', 'It is locked.', { storage: 'outage' });

function setUp() {
  const clock = createManualClock();
  const said: StorageChange[] = [];
  return { clock, said, watch: createStorageWatch(clock, (change) => said.push(change)) };
}

test('reports a full disk once when it starts and once when it ends', () => {
  const { clock, said, watch } = setUp();
  watch.stored();
  for (let i = 0; i < 10; i++) {
    watch.failed(i % 2 === 0 ? full : locked);
    clock.advance(1_000);
  }
  expect(said).toEqual([{ state: 'failing', fault: 'full', reason: 'database or disk is full' }]);
  clock.advance(5_000);
  watch.stored();
  watch.stored();
  expect(said.slice(1)).toEqual([{ state: 'well', lastedMs: 9_000 }]);
  watch.failed(locked);
  expect(said.slice(2)).toEqual([{ state: 'failing', fault: 'outage', reason: null }]);
});

test('small changes that are accepted between two rejections do not end the outage', () => {
  const { clock, said, watch } = setUp();
  for (let i = 0; i < 20; i++) {
    watch.failed(full);
    clock.advance(4_000);
    watch.stored();
  }
  expect(said).toHaveLength(1);
});

test('other errors are not an outage', () => {
  const { said, watch } = setUp();
  watch.failed(new Error('a bug'));
  watch.failed(new DomainError('UNAVAILABLE', 'Too many changes are waiting to be stored.'));
  watch.failed(new DomainError('CONFLICT', 'Taken.'));
  expect(said).toEqual([]);
});

test('damage is reported once, whether a read or a change meets it, and does not pass', () => {
  const { clock, said, watch } = setUp();
  watch.unread(locked);
  expect(said).toEqual([]);
  refuseDamage(watch);
  const cause = new Error('malformed');
  const damaged = Object.assign(new DomainError('UNAVAILABLE', 'It is damaged.', { storage: 'damaged' }), {
    cause,
  });
  watch.unread(damaged);
  watch.failed(damaged);
  clock.advance(10_000);
  watch.stored();
  expect(said).toEqual([{ state: 'damaged', cause }]);
  expect(() => refuseDamage(watch)).toThrow('restore a backup');
});
