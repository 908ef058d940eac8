import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Script, Statements } from '../../src/store/script.ts';

/** Runs a script like a driver over a network: each statement returns in a later turn of the event loop. */
export async function runLater<R>(script: Script<R>, statements: Statements): Promise<R> {
  const steps = script[Symbol.iterator]();
  let step = steps.next();
  while (step.done !== true) {
    await nextTurn();
    const { aggregate, name, values } = step.value;
    const statement = statements[aggregate]?.[name] as
      | ((...values: readonly unknown[]) => unknown)
      | undefined;
    if (statement === undefined) throw new Error(`The driver has no statement ${aggregate}.${name}.`);
    let rows: unknown;
    try {
      rows = statement(...values);
    } catch (error) {
      if (steps.throw === undefined) throw error;
      step = steps.throw(error);
      continue;
    }
    step = steps.next(rows);
  }
  return step.value;
}
