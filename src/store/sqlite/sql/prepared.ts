import type { Database } from 'better-sqlite3';
import { MOST_FREED_BYTES } from '../../changes/events.ts';
import type { Asks, Script, StatementCall } from '../../script.ts';
import type { Table } from '../table.ts';

/** The IDs of the first rows to delete in a commit ({@link MOST_FREED_BYTES}); `listed` selects their `id`, `place` and `bytes`. */
export function untilFreed(listed: string): string {
  return `SELECT id FROM (SELECT id, sum(bytes) OVER (ORDER BY place, id) - bytes AS freed FROM (${listed}))
       WHERE freed < ${MOST_FREED_BYTES}`;
}

/** A statement that changes rows and returns nothing. */
export function run<P extends unknown[]>(db: Database, sql: string): (...values: P) => void {
  const statement = db.prepare<P>(sql);
  return (...values) => void statement.run(...values);
}

/** Returns whether it changed a row. */
export function changed<P extends unknown[]>(db: Database, sql: string): (...values: P) => boolean {
  const statement = db.prepare<P>(sql);
  return (...values) => statement.run(...values).changes > 0;
}

/** Returns how many rows it changed. */
export function count<P extends unknown[]>(db: Database, sql: string): (...values: P) => number {
  const statement = db.prepare<P>(sql);
  return (...values) => statement.run(...values).changes;
}

/** Returns the rowid of the inserted row. */
export function inserted<P extends unknown[]>(db: Database, sql: string): (...values: P) => number {
  const statement = db.prepare<P>(sql);
  return (...values) => Number(statement.run(...values).lastInsertRowid);
}

/** The first row. */
export function row<P extends unknown[], R>(db: Database, sql: string): (...values: P) => R | undefined {
  const statement = db.prepare<P, R>(sql);
  return (...values) => statement.get(...values);
}

/** All rows. */
export function rows<P extends unknown[], R>(db: Database, sql: string): (...values: P) => R[] {
  const statement = db.prepare<P, R>(sql);
  return (...values) => statement.all(...values);
}

/** The first column of the first row. */
export function value<P extends unknown[], R>(db: Database, sql: string): (...values: P) => R | undefined {
  const statement = db.prepare<P, R>(sql).pluck();
  return (...values) => statement.get(...values);
}

/** The first column of all rows. */
export function values<P extends unknown[], R>(db: Database, sql: string): (...values: P) => R[] {
  const statement = db.prepare<P, R>(sql).pluck();
  return (...values) => statement.all(...values);
}

/** Like a statement, with a row as callers know it as its parameter. */
export function encoding<T extends object, R>(
  table: Table<T>,
  statement: (row: Record<string, unknown>) => R,
): (row: Partial<T>) => R {
  return (row) => statement(table.encode(row));
}

/** A result that is available immediately: a script does not pause for it. */
class ImmediateResult<R> {
  readonly done = true;
  readonly value: R;

  constructor(value: R) {
    this.value = value;
  }

  [Symbol.iterator](): Iterator<StatementCall, R> {
    return this as unknown as Iterator<StatementCall, R>;
  }

  next(): this {
    return this;
  }
}

/** Statements with immediate results, in the form that scripts use. */
export function answeredAtOnce<S extends object>(statements: S): Asks<S> {
  const asks: Record<string, Record<string, unknown>> = {};
  for (const [aggregate, named] of Object.entries(statements)) {
    const asked: Record<string, unknown> = {};
    asks[aggregate] = asked;
    for (const [name, statement] of Object.entries(
      named as Record<string, (...values: unknown[]) => unknown>,
    )) {
      asked[name] = (...values: unknown[]) => new ImmediateResult(statement(...values));
    }
  }
  return asks as Asks<S>;
}

/** A script whose statements have immediate results, as a function that runs it. */
export function runAtOnce<A extends unknown[], R>(script: (...args: A) => Script<R>): (...args: A) => R {
  return (...args) => {
    const { done, value } = script(...args)
      [Symbol.iterator]()
      .next();
    if (done !== true) throw new Error(`The statement ${value.aggregate}.${value.name} was not answered.`);
    return value;
  };
}
