import { Pool } from 'undici';
import { median, percentile } from '../report.ts';
import { openPlainClient, type PlainClient } from './plain-client.ts';

/** The result of several connections over some time. */
export interface Loaded {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** A client of one server and one tenant. */
export interface LoadClient {
  /** The body of the response. @throws if it is not 200 */
  ask(path: string): Promise<string>;
  /** The milliseconds of one request. */
  time(path: string): Promise<number>;
  load(path: string, load: { connections: number; seconds: number }): Promise<Loaded>;
  close(): Promise<void>;
}

export function createLoadClient(url: string, apiKey: string, connections: number): LoadClient {
  const pool = new Pool(url, { connections });
  const headers = { authorization: `Bearer ${apiKey}` };

  async function ask(path: string): Promise<string> {
    const { statusCode, body } = await pool.request({ path, method: 'GET', headers });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}: ${text}`);
    return text;
  }

  async function time(path: string): Promise<number> {
    const started = performance.now();
    const { statusCode, body } = await pool.request({ path, method: 'GET', headers });
    await body.dump();
    if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`);
    return performance.now() - started;
  }

  return {
    ask,
    time,
    async load(path, { connections: lanes, seconds }) {
      const clients = await Promise.all(
        Array.from({ length: lanes }, () => openPlainClient(url, headers.authorization)),
      );
      const durations: number[] = [];
      const started = performance.now();
      const end = started + seconds * 1_000;
      const work = async (client: PlainClient) => {
        while (performance.now() < end) durations.push(await client.time(path));
      };
      await Promise.all(clients.map(work));
      const elapsed = (performance.now() - started) / 1_000;
      for (const client of clients) client.close();
      return {
        perSecond: durations.length / elapsed,
        p50Ms: percentile(durations, 0.5),
        p99Ms: percentile(durations, 0.99),
      };
    },
    close: () => pool.close(),
  };
}

/** Median times of pages requested one after the other, round by round, so that a busy moment affects all equally. */
export async function timeInTurns<K extends string>(
  client: LoadClient,
  pages: ReadonlyMap<K, string>,
  rounds: number,
): Promise<Map<K, number>> {
  const times = new Map<K, number[]>([...pages.keys()].map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, path] of pages) times.get(name)?.push(await client.time(path));
  }
  return new Map([...times].map(([name, all]) => [name, median(all)]));
}
