import type { Database } from 'better-sqlite3';

/** A part of the store whose methods answer at once. */
export type Part<S> = {
  [K in keyof S]?: S[K] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never;
};

/** How each member of a row is kept: as it is, as JSON text, as 0 or 1, or as bytes. Null is kept as null. */
export type Columns<T> = { readonly [K in keyof T]-?: KindOf<NonNullable<T[K]>> };

type KindOf<V> = [V] extends [string | number]
  ? 'plain'
  : [V] extends [boolean]
    ? 'flag'
    : [V] extends [Uint8Array]
      ? 'bytes'
      : 'json';

/** What stands in a SELECT for members that are no column. */
type Made<T> = { readonly [K in keyof T]?: string };

/** A statement that finds rows. */
export interface Rows<P extends unknown[], T> {
  /** The first; null where there is none. */
  get(...values: P): T | null;
  all(...values: P): T[];
}

/**
 * A table whose rows are exposed as `T`, described once: its column `created_at` is the member `createdAt`. Rows come out as
 * SQLite's driver makes them; only what is no `plain` value is made anew. Tables of millions of rows that one commit writes
 * hundreds of have statements of their own.
 */
export class Table<T extends object> {
  /** The columns as a SELECT names them. */
  readonly list: string;
  readonly #name: string;
  readonly #columns: Columns<T>;
  readonly #made: Made<T>;
  readonly #kept: [name: keyof T & string, kind: keyof typeof KINDS][];

  /** A table with `made` members cannot be inserted into. */
  constructor(name: string, columns: Columns<T>, made: Made<T> = {}) {
    const names = namesOf(columns);
    this.#name = name;
    this.#columns = columns;
    this.#made = made;
    this.#kept = names.flatMap((each) => {
      const kind: string = columns[each];
      return isKept(kind) ? [[each, kind]] : [];
    });
    this.list = names.map((each) => `${made[each] ?? columnOf(each)} AS ${each}`).join(', ');
  }

  /** The same table with columns that `T` does not tell of. */
  with<More extends object>(columns: Columns<More>): Table<T & More> {
    const all = { ...this.#columns, ...columns } as Columns<T & More>;
    return new Table(this.#name, all, this.#made as Made<T & More>);
  }

  /** The rows that `rest` says, which follows FROM and the table's name. */
  select<P extends unknown[]>(db: Database, rest: string): Rows<P, T> {
    return this.rows(db, `SELECT ${this.list} FROM ${this.#name} ${rest}`);
  }

  /** The rows of a whole statement, which selects {@link list} and may select more, which stays as it is. */
  rows<P extends unknown[], More = unknown>(db: Database, sql: string): Rows<P, T & More> {
    const statement = db.prepare<P, T & More>(sql);
    return {
      get: (...values) => {
        const row = statement.get(...values);
        return row === undefined ? null : this.#decode(row);
      },
      all: (...values) => {
        const rows = statement.all(...values);
        if (this.#kept.length > 0) for (const row of rows) this.#decode(row);
        return rows;
      },
    };
  }

  /** Stores a row; false where `conflict`, a clause of the statement, says that it stays as it was. */
  insert(db: Database, conflict = ''): (row: T) => boolean {
    const names = namesOf(this.#columns);
    const statement = db.prepare<Record<string, unknown>[]>(
      `INSERT INTO ${this.#name} (${names.map(columnOf).join(', ')})
       VALUES (${names.map((each) => `:${each}`).join(', ')}) ${conflict}`,
    );
    return (row) => statement.run(this.encode(row)).changes === 1;
  }

  /** A row, or members of it, as values of a statement that names them `:createdAt`. */
  encode(row: Partial<T>): Record<string, unknown> {
    const values: Record<string, unknown> = { ...row };
    for (const [name, kind] of this.#kept) {
      const value = row[name];
      if (value !== null && value !== undefined) values[name] = KINDS[kind].encode(value);
    }
    return values;
  }

  #decode<R extends T>(row: R): R {
    for (const [name, kind] of this.#kept) {
      if (row[name] !== null) row[name] = KINDS[kind].decode(row[name] as never) as R[typeof name];
    }
    return row;
  }
}

const KINDS = {
  json: {
    encode: (value: unknown) => JSON.stringify(value),
    decode: (text: string): unknown => JSON.parse(text),
  },
  flag: { encode: (value: unknown) => (value ? 1 : 0), decode: (kept: number) => kept === 1 },
  // No Buffer comes out: what crosses threads comes out as a plain array, too.
  bytes: { encode: (value: unknown) => value, decode: (kept: Uint8Array) => new Uint8Array(kept) },
};

function isKept(kind: string): kind is keyof typeof KINDS {
  return Object.hasOwn(KINDS, kind);
}

function namesOf<T extends object>(columns: Columns<T>): (keyof T & string)[] {
  return Object.keys(columns) as (keyof T & string)[];
}

/** `createdAt` → `created_at` */
function columnOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
