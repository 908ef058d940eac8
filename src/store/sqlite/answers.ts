import type { Asks, Question, Script } from '../script.ts';

/** The answer to a statement, there as soon as it is asked for: a script does not stop for it. */
class Answer<R> {
  readonly done = true;
  readonly value: R;

  constructor(value: R) {
    this.value = value;
  }

  [Symbol.iterator](): Iterator<Question, R> {
    return this as unknown as Iterator<Question, R>;
  }

  next(): this {
    return this;
  }
}

/** Statements that answer at once, as scripts ask for them. */
export function answeredAtOnce<S extends object>(statements: S): Asks<S> {
  const asks: Record<string, Record<string, unknown>> = {};
  for (const [aggregate, named] of Object.entries(statements)) {
    const asked: Record<string, unknown> = {};
    asks[aggregate] = asked;
    for (const [name, statement] of Object.entries(
      named as Record<string, (...values: unknown[]) => unknown>,
    )) {
      asked[name] = (...values: unknown[]) => new Answer(statement(...values));
    }
  }
  return asks as Asks<S>;
}

/** Runs a script whose statements answer at once. */
export function runScript<R>(script: Script<R>): R {
  const { done, value } = script[Symbol.iterator]().next();
  if (done !== true) throw new Error(`The statement ${value.aggregate}.${value.name} was not answered.`);
  return value;
}
