import type { Clock } from '../lib/clock.ts';
import { CommandError } from './ports.ts';

/** Counts deliveries against those expected; a delivery may come before it is known to be expected. */
export interface DeliveryCount {
  expect(): void;
  add(): void;
  expected(): number;
  /** Resolves when as many came as were expected. @throws CommandError where they do not in time */
  complete(): Promise<void>;
}

export function createDeliveryCount(clock: Clock, timeoutMs: number): DeliveryCount {
  let expected = 0;
  let came = 0;
  let whenComplete = (): void => undefined;
  return {
    expect() {
      expected++;
    },
    add() {
      came++;
      if (came >= expected) whenComplete();
    },
    expected: () => expected,
    complete() {
      if (came >= expected) return Promise.resolve();
      return new Promise((resolve, reject) => {
        const late = () =>
          reject(new CommandError(`${expected - came} of ${expected} deliveries did not come.`));
        const timer = clock.after(timeoutMs, late);
        whenComplete = () => {
          timer.cancel();
          resolve();
        };
      });
    },
  };
}
