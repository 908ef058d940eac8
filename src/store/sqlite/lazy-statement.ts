import type { Database, Statement } from 'better-sqlite3';

/**
 * Lets a connection make each statement when it is first run: those of the whole store are 300, which took each start, thread
 * and command 47 of the 78 ms of processor time that opening a database took, and a command runs ten of them. What SQLite
 * does not understand fails so when it is run, not at start; a test makes all.
 */
export function prepareLazily(db: Database): void {
  const prepare = db.prepare.bind(db);
  const lazily = (sql: string) => new LazyStatement(() => prepare(sql));
  db.prepare = lazily as unknown as Database['prepare'];
}

/** A statement that is made when it is first run. It has what the store uses of one. */
class LazyStatement {
  readonly #make: () => Statement;
  #modes: ((statement: Statement) => unknown)[] = [];
  #made: Statement | null = null;

  constructor(make: () => Statement) {
    this.#make = make;
  }

  run(...values: unknown[]) {
    return this.#statement().run(...values);
  }
  get(...values: unknown[]) {
    return this.#statement().get(...values);
  }
  all(...values: unknown[]) {
    return this.#statement().all(...values);
  }
  iterate(...values: unknown[]) {
    return this.#statement().iterate(...values);
  }
  columns() {
    return this.#statement().columns();
  }

  pluck(): this {
    return this.#set((statement) => statement.pluck());
  }
  raw(): this {
    return this.#set((statement) => statement.raw());
  }
  safeIntegers(): this {
    return this.#set((statement) => statement.safeIntegers());
  }

  #set(mode: (statement: Statement) => unknown): this {
    this.#modes.push(mode);
    return this;
  }

  #statement(): Statement {
    if (this.#made === null) {
      this.#made = this.#make();
      for (const mode of this.#modes) mode(this.#made);
    }
    return this.#made;
  }
}
