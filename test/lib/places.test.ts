import { expect, test } from 'vitest';
import { createPlaces } from '../../src/lib/places.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { severalTurns as turn } from '../support/turn.ts';

/** Tasks named after their owner, such as `a1`, that end when they are told to. */
function setUp(most: number) {
  const clock = createManualClock();
  const places = createPlaces(clock, { most, slowMs: 100 });
  const running = new Map<string, () => void>();
  const gaveWay: string[] = [];
  return {
    clock,
    gaveWay,
    running: () => [...running.keys()].join(' '),
    async run(names: string, { mayGiveWay = false } = {}) {
      for (const name of names.split(' ')) {
        const end = Promise.withResolvers<void>();
        void places.run(name.slice(0, 1), (place) => {
          const giveWay = () => {
            gaveWay.push(name);
            end.resolve();
          };
          if (mayGiveWay) place.begins(giveWay);
          running.set(name, end.resolve);
          return end.promise.finally(() => running.delete(name));
        });
        await turn();
      }
    },
    async end(...names: string[]) {
      for (const name of names) running.get(name)?.();
      await turn();
    },
  };
}

test('an owner has a further place only if more than it has then stay free', async () => {
  const { run, running } = setUp(8);
  await run('a1 a2 a3 a4 a5');
  expect(running()).toBe('a1 a2 a3 a4');
  await run('b1 b2 b3 c1 c2 d1');
  expect(running()).toBe('a1 a2 a3 a4 b1 b2 c1 d1');
});

test('owners whose tasks took long leave one place to the others', async () => {
  const { clock, run, running, end } = setUp(2);
  await run('a1 b1');
  clock.advance(100);
  await end('a1', 'b1');
  await run('a2 b2');
  expect(running()).toBe('a2');
  await run('c1 c2');
  expect(running()).toBe('a2 c1');
  await end('c1');
  expect(running()).toBe('a2 c2');
  await end('c2', 'a2');
  expect(running()).toBe('b2');
  clock.advance(60_000);
  await run('d1');
  expect(running()).toBe('b2 d1');
});

test('owners of many quick tasks are not slow', async () => {
  const { clock, run, running, end } = setUp(2);
  for (const name of ['a1', 'a2', 'a3', 'a4']) {
    await run(name);
    clock.advance(99);
    await end(name);
  }
  await run('b1 a5');
  expect(running()).toBe('b1 a5');
});

test('the owner that has used places least is next', async () => {
  const { clock, run, running, end } = setUp(1);
  await run('a1 a2 b1');
  clock.advance(50);
  await end('a1');
  await run('c1');
  expect(running()).toBe('b1');
  clock.advance(10);
  await run('b2');
  await end('b1');
  expect(running()).toBe('c1');
  await end('c1');
  expect(running()).toBe('b2');
});

test('if others wait, the last of the tasks that turn out to be slow gives way, and only that one', async () => {
  const { clock, gaveWay, run, running, end } = setUp(2);
  await run('a1 b1', { mayGiveWay: true });
  await run('c1');
  clock.advance(99);
  await turn();
  expect(gaveWay).toEqual([]);
  clock.advance(1);
  await turn();
  expect(gaveWay).toEqual(['b1']);
  expect(running()).toBe('a1 c1');
  await run('b2 d1'); // b has become slow
  await end('c1');
  expect(running()).toBe('a1 d1');
  clock.advance(1_000);
  await end('d1');
  expect(running()).toBe('a1');
  expect(gaveWay).toEqual(['b1']);
});

test('an owner of quick tasks does not wait for the first ones of new owners', async () => {
  const { clock, run, running, end } = setUp(1);
  await run('a1');
  clock.advance(5);
  await end('a1');
  await run('b1 c1 d1 a2');
  await end('b1');
  expect(running()).toBe('a2');
  await end('a2');
  expect(running()).toBe('c1');
});

test('slow tasks give way to an owner that comes later', async () => {
  const { clock, gaveWay, run, running } = setUp(2);
  await run('a1 b1', { mayGiveWay: true });
  clock.advance(1_000);
  expect(gaveWay).toEqual([]);
  await run('c1 d1');
  expect(gaveWay).toEqual(['b1']);
  expect(running()).toBe('a1 c1');
});
