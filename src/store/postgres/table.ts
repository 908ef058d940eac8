import type { Connection } from './connection.ts';
import { changed, rows } from './sql/prepared.ts';

/** How each member of a row is kept: as it is, or as JSON. Null is kept as null. */
export type Columns<T> = {
  readonly [K in keyof T]-?: NonNullable<T[K]> extends string | number | boolean | Uint8Array
    ? 'plain'
    : 'json';
};

/** A statement that finds rows. */
export interface Rows<P extends unknown[], T> {
  /** The first; null where there is none. */
  get(...values: P): Promise<T | null>;
  all(...values: P): Promise<T[]>;
}

/** A table whose rows are `T`, described once: its column `created_at` is the member `createdAt`. */
export class Table<T extends object> {
  /** The columns as a SELECT names them. */
  readonly list: string;
  readonly #name: string;
  readonly #columns: Columns<T>;
  readonly #names: (keyof T & string)[];

  constructor(name: string, columns: Columns<T>, made: { readonly [K in keyof T]?: string } = {}) {
    this.#name = name;
    this.#columns = columns;
    this.#names = Object.keys(columns) as (keyof T & string)[];
    this.list = this.#names.map((each) => `${made[each] ?? columnOf(each)} AS "${each}"`).join(', ');
  }

  /** The same table with columns that `T` does not have. */
  with<More extends object>(columns: Columns<More>): Table<T & More> {
    return new Table(this.#name, { ...this.#columns, ...columns } as unknown as Columns<T & More>);
  }

  /** The rows that `rest` selects, which follows FROM and the table's name. */
  select<P extends unknown[]>(db: Connection, rest: string): Rows<P, T> {
    return this.rows(db, `SELECT ${this.list} FROM ${this.#name} ${rest}`);
  }

  /** The rows of a whole statement, which selects {@link list} and may select more. */
  rows<P extends unknown[], More = unknown>(db: Connection, sql: string): Rows<P, T & More> {
    const all = rows<P, T & More>(db, sql);
    return { all, get: async (...values) => (await all(...values))[0] ?? null };
  }

  /** Stores a row; false where `conflict`, a clause of the statement, says that it stays as it was. */
  insert(db: Connection, conflict = ''): (row: T) => Promise<boolean> {
    const insert = changed<Record<string, unknown>[]>(
      db,
      `INSERT INTO ${this.#name} (${this.#names.map(columnOf).join(', ')})
       VALUES (${this.#names.map((each) => `:${each}`).join(', ')}) ${conflict}`,
    );
    return (row) => insert(this.encode(row));
  }

  /** A row, or members of it, as values of a statement that names them `:createdAt`. */
  encode(row: Partial<T>): Record<string, unknown> {
    const values: Record<string, unknown> = { ...row };
    for (const name of this.#names) {
      const value = row[name];
      if (this.#columns[name] === 'json' && value !== null && value !== undefined)
        values[name] = JSON.stringify(value);
    }
    return values;
  }
}

/** `createdAt` → `created_at` */
function columnOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
