import * as crypto from 'node:crypto';
import { beforeEach, expect, test, vi } from 'vitest';
import { createPasswords } from '../../src/accounts/passwords.ts';
import { systemRandom } from '../../src/lib/random.ts';

vi.mock('node:crypto', async (original) => {
  const real = await original<typeof crypto>();
  return { ...real, argon2: vi.fn(real.argon2) };
});

beforeEach(() => {
  vi.mocked(crypto.argon2).mockClear();
});

const A = { client: '192.0.2.1' };
const B = { client: '192.0.2.2' };

/** Combining marks in the wrong order: sorting 60,000 of them took 6 s. */
const MARKS = `a${'\u0300'.repeat(50_000)}${'\u0334'.repeat(50_000)}`;

test('checking a password of 100,000 combining marks fails at the cost of one hash', async () => {
  const passwords = createPasswords(systemRandom);
  const hash = await passwords.hash('correct horse battery', A);
  for (const hashes of [[], [hash]]) {
    vi.mocked(crypto.argon2).mockClear();
    const began = performance.now();
    expect(await passwords.find(hashes, MARKS, A)).toBeNull();
    expect(vi.mocked(crypto.argon2)).toHaveBeenCalledTimes(1);
    expect(performance.now() - began).toBeLessThan(2_000);
  }
});

test('a password of 100,000 combining marks cannot be set', async () => {
  const began = performance.now();
  await expect(createPasswords(systemRandom).hash(MARKS, A)).rejects.toThrow('at most 200 characters');
  expect(performance.now() - began).toBeLessThan(500);
});

test('200 characters are the maximum, however encoded, and a longer password never matches', async () => {
  const passwords = createPasswords(systemRandom);
  const longest = '\u{1f600}'.repeat(200);
  const hash = await passwords.hash(longest, A);
  expect(await passwords.find([hash], longest, A)).toBe(0);
  expect(await passwords.find([hash], `${longest}a`, A)).toBeNull();
  await expect(passwords.hash(`${longest}a`, A)).rejects.toThrow('at most 200 characters');
  const empty = await passwords.hash('', A);
  expect(await passwords.find([empty], 'a'.repeat(201), A)).toBeNull();
});

test('the same characters in another composition are the same password', async () => {
  const passwords = createPasswords(systemRandom);
  expect(await passwords.find([await passwords.hash('caf\u00e9 au lait', A)], 'cafe\u0301 au lait', A)).toBe(
    0,
  );
});

test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
  'two hashes are computed at a time, even when a caller arrives %i steps after another has finished',
  async (steps) => {
    const running: (() => void)[] = [];
    let most = 0;
    vi.mocked(crypto.argon2).mockImplementation(((_kind: string, _cost: object, done: Done) => {
      running.push(() => done(null, Buffer.alloc(32)));
      most = Math.max(most, running.length);
    }) as never);
    const passwords = createPasswords(systemRandom);
    const asked = ['first', 'second', 'waits'].map((password) => passwords.hash(password, A));
    await turn();
    running.shift()?.();
    for (let i = 0; i < steps; i++) await null;
    asked.push(passwords.hash('late', A));
    for (let i = 0; i < 10; i++) {
      await turn();
      running.shift()?.();
    }
    await Promise.all(asked);
    expect(most).toBe(2);
  },
);

test('the attempts that one client may make at once do not go before those of another', async () => {
  const running: (() => void)[] = [];
  const begun: string[] = [];
  vi.mocked(crypto.argon2).mockImplementation(((_kind: string, { message }: Cost, done: Done) => {
    begun.push(message);
    running.push(() => done(null, Buffer.alloc(32)));
  }) as never);
  const passwords = createPasswords(systemRandom);
  const flood = Array.from({ length: 52 }, (_, i) => passwords.hash(`attempt ${i}`, A));
  await expect(passwords.hash('one more', A)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  const own = passwords.hash('own', B);
  for (let i = 0; i < 60; i++) {
    await turn();
    running.shift()?.();
  }
  await Promise.all([...flood, own]);
  expect(begun.indexOf('own')).toBe(2);
});

type Cost = { message: string };
type Done = (error: null, tag: Buffer) => void;
const turn = () => new Promise((resolve) => setImmediate(resolve));
