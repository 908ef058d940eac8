import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { DomainError } from '../../src/model/errors.ts';
import { beginWork } from '../../src/operation/begin-work.ts';
import { createManualClock } from '../support/manual-clock.ts';

const outage = () => new DomainError('UNAVAILABLE', 'It cannot be reached.', { storage: 'outage' });

/** Three steps, the second of which fails with each of `faults` first; `done` names those that succeeded. */
function someSteps(faults: Error[]) {
  const done: string[] = [];
  const step = (name: string) => async () => void done.push(name);
  const second = async () => {
    const fault = faults.shift();
    if (fault !== undefined) throw fault;
    done.push('second');
  };
  return { done, steps: [step('first'), second, step('third')] };
}

function aServer() {
  const clock = createManualClock(0);
  const lines: string[] = [];
  const logger = {
    warn: (_fields: unknown, text: string) => lines.push(text),
    error: (_fields: unknown, text: string) => lines.push(text),
  };
  const pass = async (ms: number) => {
    clock.advance(ms);
    await nextTurn();
  };
  return { pass, lines, deps: { clock, logger: logger as never } };
}

test('work begins immediately, in order', async () => {
  const { deps, lines } = aServer();
  const { done, steps } = someSteps([]);
  await beginWork(deps, steps);
  expect(done).toEqual(['first', 'second', 'third']);
  expect(lines).toEqual([]);
});

test('a step that fails because the storage is unavailable is retried every second, and no other step is repeated', async () => {
  const { pass, deps, lines } = aServer();
  const { done, steps } = someSteps([outage(), outage(), new Error('a fault of our own')]);
  await beginWork(deps, steps);
  expect(done).toEqual(['first']);
  await pass(1_000);
  await pass(1_000);
  expect(done).toEqual(['first']);
  await pass(1_000);
  expect(done).toEqual(['first', 'second', 'third']);
  await pass(60_000);
  expect(done).toHaveLength(3);
  expect(lines).toEqual([
    'the storage cannot be reached: deliveries and sources begin when it can be',
    'work cannot begin; trying again',
  ]);
});

test('any other error of the first attempt is thrown', async () => {
  const { pass, deps } = aServer();
  const { done, steps } = someSteps([new Error('a fault of our own')]);
  await expect(beginWork(deps, steps)).rejects.toThrow('a fault of our own');
  await pass(60_000);
  expect(done).toEqual(['first']);
});

test('once stopped, nothing begins', async () => {
  const { pass, deps } = aServer();
  const { done, steps } = someSteps([outage()]);
  const begun = await beginWork(deps, steps);
  begun.stop();
  await pass(60_000);
  expect(done).toEqual(['first']);
});

test('when stopped during an attempt, it ends with the current step', async () => {
  const { pass, deps, lines } = aServer();
  const faults: Error[] = [outage()];
  const { promise, reject } = Promise.withResolvers<void>();
  let tries = 0;
  const done: string[] = [];
  const begun = await beginWork(deps, [
    async () => {
      tries++;
      const fault = faults.shift();
      if (fault !== undefined) throw fault;
      await promise;
    },
    async () => void done.push('second'),
  ]);
  await pass(1_000);
  begun.stop();
  reject(new DomainError('UNAVAILABLE', 'The storage is being closed.'));
  await pass(60_000);
  expect([tries, done, lines]).toEqual([2, [], [expect.stringContaining('cannot be reached')]]);
});
