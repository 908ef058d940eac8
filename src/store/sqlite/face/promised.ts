type Functions = Record<string, (...args: never[]) => unknown>;

/** The same functions, answering later. */
export type Promised<F extends Functions> = {
  [K in keyof F]: (...args: Parameters<F[K]>) => Promise<ReturnType<F[K]>>;
};

/** How a named function is run; what it throws is the caller's rejection. */
export type Run<F extends Functions> = <K extends keyof F>(
  name: K,
  args: Parameters<F[K]>,
) => Promise<ReturnType<F[K]>>;

/** Every function of `functions` by its name, run by `run`: none of them is called here. */
export function promised<F extends Functions>(functions: F, run: Run<F>): Promised<F> {
  const face = {} as Promised<F>;
  for (const name of Object.keys(functions) as (keyof F)[]) face[name] = (...args) => run(name, args);
  return face;
}

/** Calls a function by its name: the one place where the compiler cannot follow which arguments belong to which. */
export function call<F extends Functions, K extends keyof F>(
  functions: F,
  name: K,
  args: Parameters<F[K]>,
): ReturnType<F[K]> {
  const named = functions[name] as (...args: Parameters<F[K]>) => ReturnType<F[K]>;
  return named(...args);
}
