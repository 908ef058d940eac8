import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { START_FLAGS } from '../../test/support/start-flags.ts';
import { type Child, startChild } from '../child.ts';
import { type Busy, boundOf, watchBusy } from '../postgres/bound.ts';
import { type BenchDatabase, type Cluster, startCluster } from '../postgres/cluster.ts';
import { type Floor, RECORDER, startFloor } from '../postgres/floor.ts';
import { type Figure, median } from '../report.ts';
import { sharedNow } from '../way/setting.ts';
import type { NodeCount, NodeOrder } from './node.ts';
import type { Place } from './parts.ts';

const ROUNDS = 5;
const ENDPOINTS = 50;
const DELIVERIES = 5_000;
const MOST_NODES = 3;
const GIVE_UP_MS = 120_000;

interface DispatchNode {
  child: Child;
  pid: number;
}

interface Round {
  perSecond: number;
  busy: Busy;
}

/**
 * The dispatcher on PostgreSQL: deliveries per second with one, two and three nodes on one database, compared with one process on
 * SQLite, and with only the statements that one node sends for them, by bare `pg`. Alternating in one run; each round has its own
 * database, a copy of one with the deliveries waiting.
 */
export async function benchDispatchOnPostgres(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'signalpost-bench-'));
  const cluster = await startCluster();
  const receiver = await startChild<number[]>(new URL('./receiver.ts', import.meta.url));
  const nodes: DispatchNode[] = [];
  try {
    for (let n = 0; n < MOST_NODES; n++) nodes.push(await startNode());
    const urls = receiver.ready.slice(0, ENDPOINTS).map((port, n) => `http://127.0.0.1:${port}/${n}`);
    const filled = await cluster.create();
    await fill(nodes, { url: filled.url }, urls);
    const floor = await recordFloor({ cluster, filled, folder, receiver: receiver.child.pid });
    try {
      return await measure({ cluster, filled, floor, nodes, urls, folder, receiver: receiver.child.pid });
    } finally {
      floor.end();
    }
  } finally {
    for (const { child } of [receiver, ...nodes]) child.end();
    await cluster.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

const NODE = new URL('./node.ts', import.meta.url);

async function startNode(flags: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<DispatchNode> {
  const { child, ready } = await startChild<number>(NODE, [...START_FLAGS, ...flags], [], env);
  return { child, pid: ready };
}

const ask = <T>({ child }: DispatchNode, order: NodeOrder) => child.ask<T>(order);

async function fill([node]: DispatchNode[], place: Place, urls: string[]): Promise<void> {
  if (node !== undefined) await ask(node, { do: 'fill', place, urls, deliveries: DELIVERIES });
}

/** Records the statements that one node sends while it delivers all of them. */
async function recordFloor({
  cluster,
  filled,
  folder,
  receiver,
}: Pick<Setting, 'cluster' | 'filled' | 'folder' | 'receiver'>): Promise<Floor> {
  const file = join(folder, 'statements');
  const node = await startNode(['--import', RECORDER], { BENCH_RECORD: file });
  const place = await cluster.create(filled);
  process.kill(node.pid, 'SIGUSR2');
  await deliver({ cluster: null, receiver }, [node], place);
  await node.child.ended();
  return startFloor(cluster, filled, file);
}

interface Setting {
  cluster: Cluster;
  filled: BenchDatabase;
  floor: Floor;
  nodes: DispatchNode[];
  urls: string[];
  folder: string;
  /** The receiver's process. */
  receiver: number;
}

async function measure({
  cluster,
  filled,
  floor,
  nodes,
  urls,
  folder,
  receiver,
}: Setting): Promise<Figure[]> {
  const results = new Map<string, { ours: Round; floor: number }[]>();
  // The first round warms up the JIT compiler.
  for (let round = 0; round <= ROUNDS; round++) {
    for (let count = 0; count <= MOST_NODES; count++) {
      const bare = DELIVERIES / (await floor.replay()).seconds;
      let ours: Round;
      if (count === 0) {
        const file = join(folder, `round-${round}.db`);
        await fill(nodes, { file }, urls);
        ours = await deliver({ cluster: null, receiver }, nodes.slice(0, 1), { file });
      } else {
        ours = await deliver({ cluster, receiver }, nodes.slice(0, count), await cluster.create(filled));
      }
      if (round === 0) continue;
      const variant =
        count === 0 ? 'SQLite, one process' : `PostgreSQL, ${count} node${count > 1 ? 's' : ''}`;
      results.set(variant, [...(results.get(variant) ?? []), { ours, floor: bare }]);
    }
  }
  return [...results].map(([variant, rounds]) => toFigure(variant, rounds, floor));
}

/** Delivers everything that waits in the store, with these nodes. */
async function deliver(
  { cluster, receiver }: { cluster: Cluster | null; receiver: number },
  nodes: readonly DispatchNode[],
  place: Place,
): Promise<Round> {
  await Promise.all(nodes.map((node) => ask(node, { do: 'open', place })));
  const end = watchBusy(
    cluster,
    nodes.map(({ pid }) => pid),
    [receiver],
  );
  const started = sharedNow();
  await Promise.all(nodes.map((node) => ask(node, { do: 'start' })));
  let counts: NodeCount[];
  do {
    await pause(10);
    counts = await Promise.all(nodes.map((node) => ask<NodeCount>(node, { do: 'count' })));
    if (sharedNow() - started > GIVE_UP_MS)
      throw new Error(`delivered in two minutes: ${JSON.stringify(counts)}`);
  } while (counts.reduce((sum, { count }) => sum + count, 0) < DELIVERIES);
  const busy = end();
  const seconds = (Math.max(...counts.map(({ lastAt }) => lastAt)) - started) / 1_000;
  await Promise.all(nodes.map((node) => ask(node, { do: 'close' })));
  return { perSecond: DELIVERIES / seconds, busy };
}

function toFigure(variant: string, rounds: readonly { ours: Round; floor: number }[], floor: Floor): Figure {
  const of = (pick: (round: { ours: Round; floor: number }) => number) => median(rounds.map(pick));
  const ratio = of((round) => round.ours.perSecond / round.floor);
  const middle = rounds.find((round) => round.ours.perSecond / round.floor === ratio) ?? rounds[0];
  return {
    bench: 'dispatch',
    variant: `${variant}, ${ENDPOINTS} endpoints`,
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
