import type { Database } from 'better-sqlite3';
import type { Table } from '../table.ts';

/** A statement that changes rows and answers nothing. */
export function run<P extends unknown[]>(db: Database, sql: string): (...values: P) => void {
  const statement = db.prepare<P>(sql);
  return (...values) => void statement.run(...values);
}

/** Whether it changed a row. */
export function changed<P extends unknown[]>(db: Database, sql: string): (...values: P) => boolean {
  const statement = db.prepare<P>(sql);
  return (...values) => statement.run(...values).changes > 0;
}

/** How many rows it changed. */
export function count<P extends unknown[]>(db: Database, sql: string): (...values: P) => number {
  const statement = db.prepare<P>(sql);
  return (...values) => statement.run(...values).changes;
}

/** The number that SQLite gave to the row which it inserted. */
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

/** The same statement of a row as callers know it. */
export function encoding<T extends object, R>(
  table: Table<T>,
  statement: (row: Record<string, unknown>) => R,
): (row: Partial<T>) => R {
  return (row) => statement(table.encode(row));
}
