import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Child, startChild } from '../child.ts';
import { startServer } from '../site/server.ts';
import { createSender, type Sender } from './sending.ts';
import { makeCustomers } from './setting.ts';

/** A product under test, with a sender for each of its customers. */
export interface Side {
  pid: number;
  senders: Sender[];
  /** Ours: waits for requests in flight, up to 30 s if receivers never respond. */
  end(): Promise<void>;
  kill(): Promise<void>;
}

/** Our complete server, with a customer for each list of endpoints. */
export async function startOurs(lists: readonly (readonly string[])[], profileDir?: string): Promise<Side> {
  const dataDir = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  const env = { DATA_DIR: dataDir, WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' };
  const customers = await makeCustomers(env, lists);
  const profiling =
    profileDir === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profileDir}` };
  const server = await startServer({ ...env, ...profiling });
  async function endBy(end: () => Promise<void>): Promise<void> {
    await Promise.all(senders.map((sender) => sender.close()));
    await end();
    rmSync(dataDir, { recursive: true, force: true });
  }
  const senders = customers.map(({ apiKey }, n) => createSender(server.url, apiKey, n * 10_000_000));
  return {
    pid: server.pid,
    senders,
    end: () => endBy(server.end),
    kill: () => endBy(server.kill),
  };
}

/** The bare route that posts each message to these endpoints. */
export async function startFloor(urls: readonly string[]): Promise<Side> {
  const file = new URL('./floor.ts', import.meta.url);
  const { child, ready } = await startChild<{ url: string; pid: number }>(file, [], urls);
  const sender = createSender(ready.url, '', 0);
  const end = async () => {
    await sender.close();
    child.end();
  };
  return {
    pid: ready.pid,
    senders: [sender],
    end,
    kill: end,
  };
}

/** The receiving side. */
export interface Receivers {
  pid: number;
  ports: readonly number[];
  /** Resolves with the number and time of each of the next `deliveries`; rejects after a minute without any. */
  arrived(deliveries: number): Promise<{ number: number; at: number }[]>;
  end(): void;
}

export async function startReceivers(): Promise<Receivers> {
  const started = await startChild<number[]>(new URL('./receiver.ts', import.meta.url));
  const child: Child = started.child;
  return {
    pid: child.pid,
    ports: started.ready,
    arrived(deliveries) {
      const arrived = child.ask<number[]>({ deliveries }).then((flat) => {
        const came = flat.length / 2;
        if (came < deliveries)
          throw new Error(`${came} of ${deliveries} deliveries arrived, and none for a minute`);
        return Array.from({ length: came }, (_, i) => ({
          number: flat[2 * i] ?? Number.NaN,
          at: flat[2 * i + 1] ?? Number.NaN,
        }));
      });
      arrived.catch(() => {}); // if sending fails first, that is the error to show
      return arrived;
    },
    end: () => child.end(),
  };
}
