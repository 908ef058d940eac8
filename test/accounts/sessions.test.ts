import { expect, test } from 'vitest';
import { openSession } from '../../src/accounts/sign-in.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { standInLine } from '../../src/lib/yielding.ts';
import { openTestStore } from '../support/store.ts';

test('a session is not looked up behind those of all requests of another', async () => {
  const looked: string[] = [];
  const { store } = await openTestStore();
  const slow = {
    ...store,
    async findSession(hash: string) {
      await standInLine(); // as while much else runs
      looked.push(hash);
      const until = performance.now() + 6; // longer than several may take of one turn of the event loop
      while (performance.now() < until);
      return null;
    },
  };
  const open = (token: string) => openSession({ store: slow, clock: systemClock }, token);
  await Promise.all([...Array.from({ length: 20 }, () => open('one')), open('another')]);
  expect(looked).toHaveLength(21);
  expect(looked.findIndex((hash) => hash !== looked[0])).toBeLessThan(3);
});
