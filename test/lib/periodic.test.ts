import { beforeEach, expect, test } from 'vitest';
import { createPeriodic, type Periodic, type PeriodicJob } from '../../src/lib/periodic.ts';
import { createManualClock, type ManualClock } from '../support/manual-clock.ts';

let clock: ManualClock;
let ran: string[];
let errors: unknown[];
beforeEach(() => {
  clock = createManualClock();
  ran = [];
  errors = [];
});

const job = (name: string, everyMs: number, run?: PeriodicJob['run']): PeriodicJob => ({
  name,
  everyMs,
  run: run ?? (async () => void ran.push(name)),
});

function start(...jobs: PeriodicJob[]): Periodic {
  const periodic = createPeriodic({ clock, jobs, onError: (name, error) => void errors.push([name, error]) });
  periodic.start();
  return periodic;
}

/** Waits for work started by a timer. */
async function advance(ms: number): Promise<void> {
  clock.advance(ms);
  await new Promise((resolve) => setImmediate(resolve));
}

test('every job runs a second after the start, and then at its own interval', async () => {
  start(job('fast', 10_000), job('slow', 25_000));
  await advance(999);
  expect(ran).toEqual([]);
  await advance(1);
  expect(ran).toEqual(['fast', 'slow']);
  for (let i = 0; i < 5; i++) await advance(5_000);
  expect(ran).toEqual(['fast', 'slow', 'fast', 'fast', 'slow']);
});

test('a failed job is reported, runs again at its next time, and does not delay other jobs', async () => {
  const bad = job('bad', 1_000, async () => {
    throw new Error('broken');
  });
  start(bad, job('good', 1_000));
  await advance(1_000);
  await advance(1_000);
  expect(errors).toHaveLength(2);
  expect(errors[0]).toEqual(['bad', new Error('broken')]);
  expect(ran).toEqual(['good', 'good']);
});

test('a job is not started again while it runs, however long it takes', async () => {
  let finish = () => {};
  const long = job('long', 1_000, () => {
    ran.push('long');
    return new Promise((resolve) => {
      finish = resolve;
    });
  });
  start(long);
  await advance(1_000);
  await advance(60_000);
  expect(ran).toEqual(['long']);
  finish();
  await advance(0);
  await advance(1_000);
  expect(ran).toEqual(['long', 'long']);
});

test('stopping interrupts the current job, waits for it to end, and starts no more', async () => {
  let asked = () => false;
  let finish = () => {};
  const long = job('long', 1_000, (isStopping) => {
    asked = isStopping;
    return new Promise((resolve) => {
      finish = resolve;
    });
  });
  const periodic = start(long, job('next', 1_000));
  await advance(1_000);
  expect(asked()).toBe(false);
  let stopped = false;
  const stopping = periodic.stop().then(() => {
    stopped = true;
  });
  await advance(0);
  expect([asked(), stopped]).toEqual([true, false]);
  finish();
  await stopping;
  await advance(60_000);
  expect(ran).toEqual([]);
  expect(clock.pending()).toBe(0);
});
