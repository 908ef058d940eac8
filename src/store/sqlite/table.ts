import type { Database } from 'better-sqlite3';

/** A part of the store with synchronous methods. */
export type Part<S> = {
  [K in keyof S]?: S[K] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : never;
};

/** How each member of a row is stored: as is, as JSON text, as 0 or 1, or as bytes. Null stays null. */
export type Columns<T> = { readonly [K in keyof T]-?: KindOf<NonNullable<T[K]>> };

type KindOf<V> = [V] extends [string | number]
  ? 'plain'
  : [V] extends [boolean]
    ? 'flag'
    : [V] extends [Uint8Array]
      ? 'bytes'
      : 'json';

/** SELECT expressions for members that are not columns. */
type Made<T> = { readonly [K in keyof T]?: string };

/** A statement that returns rows. */
export interface Rows<P extends unknown[], T> {
  /** The first row, or null. */
  get(...values: P): T | null;
  all(...values: P): T[];
}

/**
 * A table whose rows are exposed as `T`, described once: its column `created_at` is the member `createdAt`. Rows are
 * returned as SQLite's driver creates them; only values that are not `plain` are converted. Tables with millions of
 * rows, of which one commit writes hundreds, have statements of their own.
 */
export class Table<T extends object> {
  /** The columns, for a SELECT. */
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

  /** The same table with columns that are not in `T`. */
  with<More extends object>(columns: Columns<More>): Table<T & More> {
    const all = { ...this.#columns, ...columns } as Columns<T & More>;
    return new Table(this.#name, all, this.#made as Made<T & More>);
  }

  /** Selects rows by `rest`, the part of the statement after FROM and the table's name. */
  select<P extends unknown[]>(db: Database, rest: string): Rows<P, T> {
    return this.rows(db, `SELECT ${this.list} FROM ${this.#name} ${rest}`);
  }

  /**
   * Rows of a whole statement, which selects {@link list}, and optionally further columns, which are not converted.
   */
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

  /** Inserts a row; returns false if `conflict`, a clause of the statement, left an existing row unchanged. */
  insert(db: Database, conflict = ''): (row: T) => boolean {
    const names = namesOf(this.#columns);
    const statement = db.prepare<Record<string, unknown>[]>(
      `INSERT INTO ${this.#name} (${names.map(columnOf).join(', ')})
       VALUES (${names.map((each) => `:${each}`).join(', ')}) ${conflict}`,
    );
    return (row) => statement.run(this.encode(row)).changes === 1;
  }

  /** A row, or some of its members, as named parameters such as `:createdAt`. */
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
  // Plain arrays, not Buffers: they stay plain arrays when passed to another thread.
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
