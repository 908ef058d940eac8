/** A named statement with its values, as yielded by a script to an asynchronous driver. */
export interface StatementCall {
  aggregate: string;
  name: string;
  values: readonly unknown[];
}

/**
 * A change, or part of one, that any driver can run: it yields statements, receives their rows, and decides. Scripts call each
 * other with `yield*`. They contain no SQL and no promises, so a synchronous driver needs no promises either.
 */
export interface Script<R> {
  // biome-ignore lint/suspicious/noExplicitAny: what a script receives is typed by the statement that it yields
  [Symbol.iterator](): Iterator<StatementCall, R, any>;
}

/** A change by name, with its arguments. */
export type AnyChange = readonly [name: string, args: readonly unknown[]];

type AnyFunction = (...values: never[]) => unknown;

/** A driver's statements by aggregate and name; they return rows, or the number of changed rows. */
export type Statements = Record<string, Record<string, AnyFunction>>;

/** The same statements, as called by a script: `yield* ask.keys.revoke(now, id)`. */
export type Asks<S> = {
  readonly [A in keyof S]: {
    readonly [K in keyof S[A]]: S[A][K] extends (...values: infer P) => infer R
      ? (...values: P) => Script<R>
      : never;
  };
};

/** Methods of the store as scripts. */
export type Scripts<S> = {
  [K in keyof S]?: S[K] extends (...args: infer A) => Promise<infer R> ? (...args: A) => Script<R> : never;
};

/** The result of a script. */
export type Result<S> = S extends Script<infer R> ? R : never;
