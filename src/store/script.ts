/** A named statement with its values, as a script yields it to a driver that answers later. */
export interface Question {
  aggregate: string;
  name: string;
  values: readonly unknown[];
}

/**
 * A change, or a part of one, that any driver can run: it yields statements, receives their rows, and decides. A script
 * calls another by `yield*`. It knows no SQL and no promise, so that a driver in the same thread runs it without either.
 */
export interface Script<R> {
  // biome-ignore lint/suspicious/noExplicitAny: what a script receives is typed by the statement that it yields
  [Symbol.iterator](): Iterator<Question, R, any>;
}

type AnyFunction = (...values: never[]) => unknown;

/** Statements by aggregate and name, as a driver answers them: with rows, or with how many rows there were. */
export type Statements = Record<string, Record<string, AnyFunction>>;

/** The same statements as a script asks for them: `yield* ask.keys.revoke(now, id)`. */
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

/** What a script comes to. */
export type Result<S> = S extends Script<infer R> ? R : never;
