import { expect, expectTypeOf, test } from 'vitest';
import { type Changes, createChanges, type StoreStatements } from '../../src/store/changes.ts';
import { KEPT_STEPS } from '../../src/store/kept-steps.ts';
import { answeredLater } from '../../src/store/postgres/runner.ts';
import type { Store } from '../../src/store/store.ts';

/** Changes that a driver calls by itself, within methods of the store that have other names. */
const OF_DRIVERS = [
  ...['bidForKey', 'answerKey', 'releaseKey', 'makeDone', 'makeKept', 'writeProbe'],
  ...['claimLanes', 'claimOldest', 'commitSignalsHeld', 'recordAttempt', 'recordDelivered'],
  ...['beat', 'leave', 'endLaneLeases', 'endSourceLeases', 'leaseSources'],
];

test('every change that the store offers is kept with the keyed request that makes it, by a name that is listed', () => {
  const names = Object.keys(createChanges(answeredLater<StoreStatements>()));
  expect(names.filter((name) => !OF_DRIVERS.includes(name)).sort()).toEqual([...KEPT_STEPS].sort());
});

/** Changes that the store offers and that are not listed: the check of types says which, before any test runs. */
type Unlisted = Exclude<
  keyof Changes & keyof Store,
  (typeof KEPT_STEPS)[number] | 'answerKey' | 'releaseKey'
>;

test('and none is left out', () => {
  expectTypeOf<Unlisted>().toEqualTypeOf<never>();
});

/** `true` where JSON carries a value of that type. */
type IsJson<T> = T extends string | number | boolean | null | undefined
  ? true
  : T extends ((...args: never[]) => unknown) | Uint8Array | Date | bigint | symbol
    ? false
    : T extends readonly (infer U)[]
      ? IsJson<U>
      : T extends object
        ? { [K in keyof T]: IsJson<T[K]> }[keyof T]
        : true;

/** Names of steps whose result JSON does not carry. */
type Unkept = {
  [K in (typeof KEPT_STEPS)[number]]: false extends IsJson<Awaited<ReturnType<Store[K]>>> ? K : never;
}[(typeof KEPT_STEPS)[number]];

test('what a kept step came to is JSON', () => {
  expectTypeOf<Unkept>().toEqualTypeOf<never>();
  expectTypeOf<IsJson<{ at: Date }>>().toEqualTypeOf<false>();
});
