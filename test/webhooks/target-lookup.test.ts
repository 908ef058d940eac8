import { expect, test } from 'vitest';
import { createLookup } from '../../src/webhooks/target-lookup.ts';
import { cpuOf } from '../support/cpu-time.ts';
import { createManualClock } from '../support/manual-clock.ts';
import { severalTurns as turn } from '../support/turn.ts';

const NEVER = () => new Promise<string[]>(() => {});

/** A resolver that answers `known` immediately, and never answers system look-ups of other names. */
function setUp(direct: (name: string) => Promise<readonly string[]>) {
  const clock = createManualClock();
  const asked: string[] = [];
  const answers: ((addresses: string[]) => void)[] = [];
  const lookup = createLookup(clock, {
    direct,
    system(name) {
      asked.push(name);
      return new Promise((resolve) => answers.push(resolve));
    },
  });
  return { clock, lookup, asked, answers };
}

test('two thousand saves of unresolvable names use two threads and one timer, and end in time', async () => {
  const { clock, lookup, asked } = setUp(async (name) => (name === 'alive.example' ? ['203.0.114.1'] : []));
  const dead = Array.from({ length: 2_000 }, (_, n) => lookup(`dead${n}.example`));
  await turn();
  expect(asked).toEqual(['dead0.example', 'dead1.example']);
  expect(clock.pending()).toBe(1);
  expect(await lookup('alive.example')).toEqual(['203.0.114.1']);
  clock.advance(8_000);
  expect(new Set((await Promise.all(dead)).map((found) => found.length))).toEqual(new Set([0]));
  expect(clock.pending()).toBe(0);
});

test('look-ups of many owners that have timed out leave their line in turns of the event loop', async () => {
  const { clock, lookup, asked, answers } = setUp(async () => []);
  const dead = Array.from({ length: 1_500 }, (_, n) => lookup(`dead${n}.example`, `ten_${n}`));
  await turn();
  clock.advance(8_000);
  await Promise.all(dead);
  const { longestMs } = await cpuOf(async () => {
    for (const answer of answers) answer([]);
    await turn();
  });
  expect(longestMs).toBeLessThan(60);
  expect(asked).toHaveLength(2);
});

test('a look-up that has timed out does not use a thread later', async () => {
  const { clock, lookup, asked, answers } = setUp(async () => []);
  const dead = ['a', 'b', 'c'].map((name) => lookup(`${name}.example`));
  await turn();
  clock.advance(8_000);
  await Promise.all(dead);
  answers[0]?.([]);
  const hosted = lookup('hosts-file.example');
  await turn();
  expect(asked).toEqual(['a.example', 'b.example', 'hosts-file.example']);
  answers[2]?.(['203.0.114.2']);
  expect(await hosted).toEqual(['203.0.114.2']);
});

test('names of an owner that the system resolver knows do not wait for those of others', async () => {
  const { lookup, asked, answers } = setUp(async () => []);
  for (const name of ['1', '2', '3']) void lookup(`dead${name}.example`, 'a');
  await turn();
  const hosted = lookup('hosts-file.example', 'b');
  await turn();
  expect(asked).toEqual(['dead1.example', 'hosts-file.example']);
  answers[1]?.(['203.0.114.2']);
  expect(await hosted).toEqual(['203.0.114.2']);
  answers[0]?.([]);
  await turn();
  expect(asked.slice(2)).toEqual(['dead2.example']);
});

test('owners whose names take the system resolver long leave a thread to those of others', async () => {
  const { clock, lookup, asked, answers } = setUp(async () => []);
  for (const owner of ['a', 'b']) void lookup('dead1.example', owner);
  await turn();
  clock.advance(8_000);
  for (const answer of answers.splice(0)) answer([]);
  await turn();
  for (const owner of ['a', 'b']) void lookup('dead2.example', owner);
  await turn();
  void lookup('hosts-file.example', 'c');
  await turn();
  expect(asked).toEqual(['dead1.example', 'dead1.example', 'dead2.example', 'hosts-file.example']);
});

test('concurrent look-ups of a name share the result, and later ones start anew', async () => {
  let asked = 0;
  const { lookup } = setUp(async () => [`203.0.114.${++asked}`]);
  expect(await Promise.all([lookup('a.example'), lookup('a.example')])).toEqual([
    ['203.0.114.1'],
    ['203.0.114.1'],
  ]);
  expect(await lookup('a.example')).toEqual(['203.0.114.2']);
});

test('a look-up ends after the same timeout if the name server never responds', async () => {
  const { clock, lookup, asked } = setUp(NEVER);
  const dead = lookup('dead.example');
  clock.advance(8_000);
  expect(await dead).toEqual([]);
  expect(asked).toEqual([]);
});

/** Resolves names when `answer` is called; `asked` are those in progress and before. */
function atWill() {
  const asked: string[] = [];
  const pending = new Map<string, (addresses: string[]) => void>();
  const { clock, lookup } = setUp((name) => {
    asked.push(name);
    return new Promise((resolve) => pending.set(name, resolve));
  });
  const answer = async (name: string, addresses = ['203.0.114.1']) => {
    pending.get(name)?.(addresses);
    await turn();
  };
  return { clock, lookup, asked, answer };
}

const NAMES = ['1', '2', '3', '4', '5', '6'];

test('few names of an owner are looked up at once, since all answers are read in one piece', async () => {
  const { lookup, asked, answer } = atWill();
  for (const name of NAMES) void lookup(name, 'a');
  void lookup('7', 'b');
  void lookup('6', 'b');
  await turn();
  expect(asked).toEqual(['1', '2', '3', '4', '7', '6']);
  await answer('1');
  expect(asked.slice(6)).toEqual(['5']);
});

test('names that take long do not hold up the other names of their owner again', async () => {
  const { clock, lookup, asked, answer } = atWill();
  const dead = NAMES.slice(0, 4);
  for (const name of dead) void lookup(name, 'a');
  await turn();
  clock.advance(1_000);
  for (const name of dead) await answer(name);
  for (const name of dead) void lookup(name, 'a');
  await turn();
  asked.length = 0;
  void lookup('5', 'a');
  await turn();
  expect(asked).toEqual(['5']);
});

test('of thousands of addresses, a few count', async () => {
  const { lookup, answer } = atWill();
  const found = lookup('1', 'a');
  await turn();
  await answer(
    '1',
    Array.from({ length: 4_000 }, (_, n) => `203.0.${n >> 8}.${n & 255}`),
  );
  expect(await found).toHaveLength(32);
});
