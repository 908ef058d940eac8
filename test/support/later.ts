import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Asks, Question, Script, Statements } from '../../src/store/script.ts';

/** Statements as scripts ask for them of a driver that answers later: each stops its script until there are rows. */
export function asking<S extends object>(): Asks<S> {
  const names = (aggregate: string) =>
    new Proxy(
      {},
      {
        get:
          (_, name: string) =>
          (...values: unknown[]) =>
            ask({ aggregate, name, values }),
      },
    );
  return new Proxy({}, { get: (_, aggregate: string) => names(aggregate) }) as Asks<S>;
}

function* ask(question: Question): Generator<Question, unknown> {
  return yield question;
}

/** Runs a script as a driver over a network would: every statement is answered in a later turn of the event loop. */
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
