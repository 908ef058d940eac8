import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Busy, boundOf, watchBusy } from '../postgres/bound.ts';
import { type Cluster, startCluster } from '../postgres/cluster.ts';
import { type Floor, RECORDER, startFloor } from '../postgres/floor.ts';
import { type Figure, median } from '../report.ts';
import { type BenchServer, startServer } from '../site/server.ts';
import { createSender, type Sender } from './sending.ts';
import { makeCustomers, sharedNow } from './setting.ts';
import { type Receivers, startReceivers } from './sides.ts';

const ROUNDS = 3;
const MOST_NODES = 3;
/** Concurrent messages per node. */
const IN_FLIGHT = 8;
/** Time for outcomes that are not on disk yet when the last delivery has arrived. */
const SETTLE_MS = 1_000;
const SHAPES = [
  { endpoints: 50, messages: 120 },
  { endpoints: 5, messages: 900 },
];
type Shape = (typeof SHAPES)[number];

interface Round {
  perSecond: number;
  busy: Busy;
}

/** Complete servers on one store, each with its own sender. */
interface Side {
  cluster: Cluster | null;
  servers: BenchServer[];
  senders: Sender[];
  end(): Promise<void>;
}

/**
 * End to end on PostgreSQL: messages over HTTP to one, two and three nodes in turn, each stored durably and sent to every endpoint,
 * until the last one has arrived; compared with one server on SQLite, and with only the statements that one node sends for them, by bare
 * `pg`.
 */
export async function benchFanoutOnPostgres(): Promise<Figure[]> {
  const receivers = await startReceivers();
  const cluster = await startCluster();
  try {
    const figures: Figure[] = [];
    for (const shape of SHAPES) figures.push(...(await measureShape(receivers, cluster, shape)));
    return figures;
  } finally {
    receivers.end();
    await cluster.end();
  }
}

const SECRETS_KEY = Buffer.alloc(32, 7).toString('base64');
const SETTINGS = { SECRETS_KEY, WEBHOOK_ALLOW_TARGETS: '127.0.0.0/8' };

async function measureShape(receivers: Receivers, cluster: Cluster, shape: Shape): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  const urls = receivers.ports.slice(0, shape.endpoints).map((port, n) => `http://127.0.0.1:${port}/${n}`);
  const filled = await cluster.create();
  const apiKey = await makeCustomer({ DATABASE_URL: filled.url, DATA_DIR: join(folder, 'first') }, urls);

  /** The number of nodes; 0: one server on SQLite. */
  async function start(nodes: number, more: NodeJS.ProcessEnv = {}): Promise<Side> {
    if (nodes === 0) {
      const env = { ...SETTINGS, DATA_DIR: join(folder, 'sqlite') };
      return sideOf(null, [await startServer(env)], await makeCustomer(env, urls));
    }
    const { url: DATABASE_URL } = await cluster.create(filled);
    const servers = await Promise.all(
      Array.from({ length: nodes }, (_, n) =>
        startServer({ ...SETTINGS, DATABASE_URL, DATA_DIR: join(folder, `node-${n}`), ...more }),
      ),
    );
    return sideOf(cluster, servers, apiKey);
  }

  const file = join(folder, 'statements');
  const recorded = await start(1, { NODE_OPTIONS: `--import ${RECORDER}`, BENCH_RECORD: file });
  for (const { pid } of recorded.servers) process.kill(pid, 'SIGUSR2');
  await run(receivers, recorded, shape);
  await recorded.end();
  const floor = await startFloor(cluster, filled, file);
  try {
    const figures: Figure[] = [];
    for (let nodes = 0; nodes <= MOST_NODES; nodes++) {
      const side = await start(nodes);
      const rounds: { ours: Round; floor: number }[] = [];
      try {
        await run(receivers, side, shape); // warms up the JIT compiler
        for (let i = 0; i < ROUNDS; i++) {
          const { seconds } = await floor.replay();
          const ours = await run(receivers, side, shape);
          rounds.push({ ours, floor: (shape.endpoints * shape.messages) / seconds });
        }
      } finally {
        await side.end();
      }
      figures.push(toFigure({ nodes, shape, rounds, floor }));
    }
    return figures;
  } finally {
    floor.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function makeCustomer(env: NodeJS.ProcessEnv, urls: readonly string[]): Promise<string> {
  const [customer] = await makeCustomers({ ...SETTINGS, ...env }, [urls]);
  return customer?.apiKey ?? '';
}

let sides = 0;

function sideOf(cluster: Cluster | null, servers: BenchServer[], apiKey: string): Side {
  // Each message is new for this database and its copies.
  const senders = servers.map(({ url }, n) => createSender(url, apiKey, (10 * sides + n) * 1_000_000));
  sides++;
  return {
    ...{ cluster, servers, senders },
    async end() {
      await Promise.all(senders.map((sender) => sender.close()));
      await Promise.all(servers.map((server) => server.end()));
    },
  };
}

async function run(
  receivers: Receivers,
  { cluster, servers, senders }: Side,
  { endpoints, messages }: Shape,
): Promise<Round> {
  const arrived = receivers.arrived(endpoints * messages);
  const end = watchBusy(
    cluster,
    servers.map(({ pid }) => pid),
    [receivers.pid],
  );
  const started = sharedNow();
  await Promise.all(senders.map((sender) => sender.burst(messages / senders.length, IN_FLIGHT)));
  const last = (await arrived).at(-1)?.at ?? Number.NaN;
  const busy = end();
  await pause(SETTLE_MS);
  return { perSecond: (endpoints * messages) / ((last - started) / 1_000), busy };
}

interface Measured {
  nodes: number;
  shape: Shape;
  rounds: readonly { ours: Round; floor: number }[];
  floor: Floor;
}

function toFigure({ nodes, shape: { endpoints, messages }, rounds, floor }: Measured): Figure {
  const of = (pick: (round: { ours: Round; floor: number }) => number) => median(rounds.map(pick));
  const ratio = of((round) => round.ours.perSecond / round.floor);
  const middle = rounds.find((round) => round.ours.perSecond / round.floor === ratio) ?? rounds[0];
  const on = nodes === 0 ? 'SQLite, one process' : `PostgreSQL, ${nodes} node${nodes > 1 ? 's' : ''}`;
  return {
    bench: 'fanout',
    variant: `${on}, ${messages} messages to ${endpoints} endpoints`,
    ours: Math.round(of((round) => round.ours.perSecond)),
    floor: Math.round(of((round) => round.floor)),
    ratio,
    unit: 'deliveries/s',
    rounds: rounds.length,
    floor_transactions: floor.sent.transactions,
    floor_statements: floor.sent.statements,
    bound_by: middle === undefined ? '' : boundOf(middle.ours.busy),
  };
}
