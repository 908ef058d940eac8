import { expect, expectTypeOf, test } from 'vitest';
import { type Changes, createChanges, type StoreStatements } from '../../src/store/changes.ts';
import { KEPT_STEPS } from '../../src/store/kept-steps.ts';
import { answeredLater } from '../../src/store/postgres/runner.ts';
import type { Store } from '../../src/store/store.ts';

/** Changes that drivers call directly, from methods of the store with other names. */
const OF_DRIVERS = [
  ...['bidForKey', 'answerKey', 'releaseKey', 'makeDone', 'makeKept', 'writeProbe'],
  ...['claimLanes', 'claimOldest', 'commitSignalsHeld', 'recordAttempt', 'recordDelivered'],
  ...['beat', 'leave', 'endLaneLeases', 'endSourceLeases', 'leaseSources'],
];

test('the listed steps are exactly the changes recorded with a keyed request', () => {
  const names = Object.keys(createChanges(answeredLater<StoreStatements>()));
  expect(names.filter((name) => !OF_DRIVERS.includes(name)).sort()).toEqual([...KEPT_STEPS].sort());
});

/** Changes of the store that are not listed: the type check reports them before any test runs. */
type Unlisted = Exclude<
  keyof Changes & keyof Store,
  (typeof KEPT_STEPS)[number] | 'answerKey' | 'releaseKey'
>;

test('the list contains every change of the store', () => {
  expectTypeOf<Unlisted>().toEqualTypeOf<never>();
});

/** `true` if JSON can represent values of that type. */
type IsJson<T> = T extends string | number | boolean | null | undefined
  ? true
  : T extends ((...args: never[]) => unknown) | Uint8Array | Date | bigint | symbol
    ? false
    : T extends readonly (infer U)[]
      ? IsJson<U>
      : T extends object
        ? { [K in keyof T]: IsJson<T[K]> }[keyof T]
        : true;

/** Names of steps whose result cannot be represented as JSON. */
type Unkept = {
  [K in (typeof KEPT_STEPS)[number]]: false extends IsJson<Awaited<ReturnType<Store[K]>>> ? K : never;
}[(typeof KEPT_STEPS)[number]];

test('the result of every recorded step can be represented as JSON', () => {
  expectTypeOf<Unkept>().toEqualTypeOf<never>();
  expectTypeOf<IsJson<{ at: Date }>>().toEqualTypeOf<false>();
});
