import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { DomainError } from '../../src/model/errors.ts';
import { type PreviewDeps, previewProfile } from '../../src/signals/profiles.ts';
import { createManualClock } from '../support/manual-clock.ts';

/** A store whose posts come when told; counts what reads them at the same time, of each account and of all. */
function slowPosts() {
  let isOpen = false;
  const reading = new Map<string, number>();
  const most = { ofOne: 0, ofAll: 0 };
  const count = (tenantId: string, more: number) => {
    reading.set(tenantId, (reading.get(tenantId) ?? 0) + more);
    const counts = [...reading.values()];
    most.ofOne = Math.max(most.ofOne, ...counts);
    most.ofAll = Math.max(
      most.ofAll,
      counts.reduce((sum, n) => sum + n, 0),
    );
  };
  const store = {
    async listPosts(tenantId: string) {
      count(tenantId, 1);
      while (!isOpen) await nextTurn();
      count(tenantId, -1);
      return [];
    },
  } as unknown as PreviewDeps['store'];
  const open = () => {
    isOpen = true;
  };
  return { deps: { store, clock: createManualClock() }, most, open };
}

test('an account tries one draft at a time, and more than 17 are refused: forty ended the process', async () => {
  const { deps, most, open } = slowPosts();
  const all = Array.from({ length: 40 }, () => previewProfile(deps, 'ten_a', { limit: 200 }));
  const refused: DomainError[] = [];
  const ended = Promise.all(all.map((each) => each.catch((error) => void refused.push(error))));
  await nextTurn();
  open();
  await ended;
  expect(most.ofOne).toBe(1);
  expect(refused).toHaveLength(40 - 17);
  expect(refused[0]).toMatchObject({ code: 'UNAVAILABLE', extra: { retryAfterSeconds: 10 } });
});

test('of all accounts, eight try drafts at a time', async () => {
  const { deps, most, open } = slowPosts();
  const all = Array.from({ length: 30 }, (_, n) => previewProfile(deps, `ten_${n}`, { limit: 200 }));
  for (let turn = 0; turn < 50; turn++) await nextTurn();
  open();
  await Promise.all(all);
  expect(most.ofAll).toBe(8);
});
