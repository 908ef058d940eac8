import { globSync, readFileSync } from 'node:fs';
import { deserialize } from 'node:v8';
import pg from 'pg';
import type { Sent } from './record.ts';

/** The statements, in files whose names begin with `file`, and their destination. */
export interface ReplayOrder {
  file: string;
  url: string;
}

export interface Replayed {
  seconds: number;
  transactions: number;
  statements: number;
}

// The floor: sends a program's statements with bare `pg` over the same number of pipelined connections, each transaction as soon as the
// previous one is complete. Nothing is decided, parsed or delivered.
process.on('message', (order: ReplayOrder) => {
  replay(order).then(
    (replayed) => process.send?.(replayed),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');

async function replay({ file, url }: ReplayOrder): Promise<Replayed> {
  const recorded = globSync(`${file}-*`).flatMap((each) => deserialize(readFileSync(each)) as Sent[][]);
  const connections = recorded.map(inUnits);
  const clients = await Promise.all(
    connections.map(async () => {
      const client = new pg.Client({ connectionString: url, pipeline: true } as pg.ClientConfig);
      await client.connect();
      return client;
    }),
  );
  const started = performance.now();
  await Promise.all(
    clients.map(async (client, n) => {
      for (const unit of connections[n] ?? []) {
        await Promise.all(
          unit.map((sent) => client.query({ ...sent, rowMode: 'array' } as pg.QueryArrayConfig)),
        );
      }
    }),
  );
  const seconds = (performance.now() - started) / 1_000;
  await Promise.all(clients.map((client) => client.end()));
  const all = connections.flat();
  return {
    seconds,
    transactions: all.filter((unit) => unit.length > 1).length,
    statements: all.reduce((sum, unit) => sum + unit.length, 0),
  };
}

/** Complete transactions, and single statements. An unfinished transaction is omitted. */
function inUnits(sent: readonly Sent[]): Sent[][] {
  const units: Sent[][] = [];
  let open: Sent[] | null = null;
  let isWhole = false;
  for (const one of sent) {
    if (one.text === 'BEGIN') open = [];
    if (open === null) {
      // In progress when the recording started.
      if (isWhole || !/^(?:COMMIT|ROLLBACK)/.test(one.text)) units.push([one]);
      continue;
    }
    isWhole = true;
    open.push(one);
    if (!/^(?:COMMIT|ROLLBACK$)/.test(one.text)) continue;
    units.push(open);
    open = null;
  }
  return units;
}
