import type { Database, Statement } from 'better-sqlite3';

/**
 * Lets a connection make each statement once, when it is first run: those of the whole store are 300, which took each start,
 * thread and command 47 of the 78 ms of processor time that opening a database took, and a command runs ten of them. What
 * SQLite does not understand fails so when it is run, not at start; a test makes all.
 */
export function prepareLazily(db: Database): void {
  const prepare = db.prepare.bind(db);
  const known = new Map<string, LazyStatement>();
  const lazily = (sql: string) => {
    const statement = known.get(sql) ?? new LazyStatement(() => prepare(sql));
    known.set(sql, statement);
    return statement;
  };
  db.prepare = lazily as unknown as Database['prepare'];
}

type Mode = 'pluck' | 'raw' | 'safeIntegers';

/** A statement that is made when it is first run, for each mode once. It has what the store uses of one. */
class LazyStatement {
  readonly #make: () => Statement;
  readonly #modes = new Map<Mode, LazyStatement>();

  constructor(make: () => Statement) {
    this.#make = make;
  }

  run(...values: unknown[]) {
    return this.#become().run(...values);
  }
  get(...values: unknown[]) {
    return this.#become().get(...values);
  }
  all(...values: unknown[]) {
    return this.#become().all(...values);
  }
  iterate(...values: unknown[]) {
    return this.#become().iterate(...values);
  }
  columns() {
    return this.#become().columns();
  }

  pluck(): LazyStatement {
    return this.#in('pluck');
  }
  raw(): LazyStatement {
    return this.#in('raw');
  }
  safeIntegers(): LazyStatement {
    return this.#in('safeIntegers');
  }

  #in(mode: Mode): LazyStatement {
    const statement = this.#modes.get(mode) ?? new LazyStatement(() => this.#make()[mode]());
    this.#modes.set(mode, statement);
    return statement;
  }

  /** Makes it, and leaves no step of its own between its callers and SQLite. */
  #become(): Statement {
    const made = this.#make();
    this.run = made.run.bind(made);
    this.get = made.get.bind(made);
    this.all = made.all.bind(made);
    this.iterate = made.iterate.bind(made);
    this.columns = made.columns.bind(made);
    return made;
  }
}
