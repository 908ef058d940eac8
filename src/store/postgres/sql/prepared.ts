import type { Connection, Prepared } from '../connection.ts';

type Nothing = ReturnType<() => void>;

/** Statements of an asynchronous driver. One without a result may still be in progress when it returns. */
export type Async<S> = {
  readonly [K in keyof S]: S[K] extends (...values: infer P) => infer R
    ? (...values: P) => [R] extends [Nothing] ? void | Promise<void> : Promise<R>
    : never;
};

/** Every statement used so far, by its SQL text. */
export const known = new Map<string, Prepared>();

/**
 * SQL with parameters written as `?`, or as `:name` for members of a row. Its name is derived from its text, so that
 * a connection prepares it once for all callers.
 */
export function prepared(sql: string): Prepared {
  const found = known.get(sql);
  if (found !== undefined) return found;
  const members: string[] = [];
  let count = 0;
  const text = sql
    .replace(/(?<![:\w]):([a-zA-Z]\w*)/g, (_, member: string) => {
      if (!members.includes(member)) members.push(member);
      return `$${members.indexOf(member) + 1}`;
    })
    .replace(/\?/g, () => `$${++count}`);
  const statement = { name: `s${known.size}`, text, members: members.length > 0 ? members : null };
  known.set(sql, statement);
  return statement;
}

/** SQL with many shapes, which is never prepared: a client that tries all of them cannot fill the memory. */
function onceOnly(text: string): Prepared {
  let count = 0;
  return { name: '', text: text.replace(/\?/g, () => `$${++count}`), members: null };
}

/** The rows of a statement built for one query. */
export async function ask<R>(db: Connection, sql: string, values: readonly unknown[]): Promise<R[]> {
  const { columns, rows: found } = await db.ask(onceOnly(sql), values);
  return found.map((each) => Object.fromEntries(columns.map((name, i) => [name, each[i]])) as R);
}

/** A statement that changes rows and returns nothing; it is not waited for. */
export function run<P extends unknown[]>(db: Connection, sql: string): (...values: P) => void {
  const statement = prepared(sql);
  return (...values) => db.send(statement, values);
}

/** Returns whether it changed a row. */
export function changed<P extends unknown[]>(
  db: Connection,
  sql: string,
): (...values: P) => Promise<boolean> {
  const statement = prepared(sql);
  return async (...values) => (await db.ask(statement, values)).count > 0;
}

/** Returns how many rows it changed. */
export function count<P extends unknown[]>(db: Connection, sql: string): (...values: P) => Promise<number> {
  const statement = prepared(sql);
  return async (...values) => (await db.ask(statement, values)).count;
}

/** The first row. */
export function row<P extends unknown[], R>(
  db: Connection,
  sql: string,
): (...values: P) => Promise<R | undefined> {
  const all = rows<P, R>(db, sql);
  return async (...values) => (await all(...values))[0];
}

/** All rows. */
export function rows<P extends unknown[], R>(db: Connection, sql: string): (...values: P) => Promise<R[]> {
  const statement = prepared(sql);
  return async (...values) => {
    const { columns, rows: found } = await db.ask(statement, values);
    return found.map((each) => Object.fromEntries(columns.map((name, i) => [name, each[i]])) as R);
  };
}

/** The first column of the first row. */
export function value<P extends unknown[], R>(
  db: Connection,
  sql: string,
): (...values: P) => Promise<R | undefined> {
  const statement = prepared(sql);
  return async (...values) => (await db.ask(statement, values)).rows[0]?.[0] as R | undefined;
}

/** The first column of all rows. */
export function values<P extends unknown[], R>(db: Connection, sql: string): (...values: P) => Promise<R[]> {
  const statement = prepared(sql);
  return async (...values) => (await db.ask(statement, values)).rows.map(([first]) => first as R);
}
