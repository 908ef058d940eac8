import type { World } from './world.ts';

/** One hostile input. */
export interface HostileCase {
  /** Surface, place and shape, as matched by `--only`: `dashboard: log-in, password of combining marks`. */
  name: string;
  /** Approximate size in bytes. */
  size: number;
  /** Sends the input and returns the outcome: a status, or how a run ended. */
  run(world: World): Promise<string>;
}

/** Describes a status; starts with "broken" when a healthy server would not respond like this. */
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
