import { readFileSync } from 'node:fs';
import autocannon from 'autocannon';

/** The cost of one round of requests. */
export interface Load {
  perSecond: number;
  p99Ms: number;
  /** User and system time of the server in microseconds per request; NaN if the system does not provide it. */
  cpuUs: number;
}

/** Requests `url` over `connections` connections for `seconds`. @throws if a response is not 2xx */
export async function load(url: string, pid: number, seconds: number, connections = 10): Promise<Load> {
  const before = cpuTicks(pid);
  const result = await autocannon({ url, duration: seconds, connections });
  const after = cpuTicks(pid);
  if (result.non2xx > 0 || result.errors > 0) {
    throw new Error(`${url}: ${result.non2xx} responses were not 2xx, ${result.errors} failed`);
  }
  return {
    perSecond: result['2xx'] / result.duration,
    p99Ms: result.latency.p99,
    cpuUs: ((after - before) * TICK_US) / result['2xx'],
  };
}

/** Linux measures in hundredths of a second (USER_HZ). */
const TICK_US = 10_000;

function cpuTicks(pid: number): number {
  try {
    // The name in parentheses may contain spaces; the 12th and 13th fields after it are user and system time.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
    return Number(fields[11]) + Number(fields[12]);
  } catch {
    return Number.NaN;
  }
}
