import type { World } from './world.ts';

/** One hostile input. */
export interface HostileCase {
  /** Face, place and form, as `--only` finds it: `dashboard: log-in, password of combining marks`. */
  name: string;
  /** Bytes, about. */
  size: number;
  /** Sends it, and answers what came of it: a status, or how a run ended. */
  run(world: World): Promise<string>;
}

/** A status in words; what is no answer of a sound server begins with "broken". */
export function outcomeOf({
  status,
  headers,
  body,
}: {
  status: number;
  headers: object;
  body: string;
}): string {
  const isRefusal = status === 503 && 'retry-after' in headers;
  return status >= 500 && !isRefusal ? `broken: ${status} ${body.slice(0, 300)}` : String(status);
}
