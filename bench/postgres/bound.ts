import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { processorMs } from '../way/sending.ts';
import type { Cluster } from './cluster.ts';

/** How busy the processes of a round were. */
export interface Busy {
  /** As shares of the time of all cores. */
  nodes: number;
  postgres: number;
  /** Receivers, senders and the bench itself. */
  others: number;
  /** All programs of the machine, including those outside the benchmark. */
  machine: number;
  /** As shares of the time of one core: the busiest PostgreSQL process, and the busiest node with all of its threads. */
  busiestBackend: number;
  busiestNode: number;
}

/** Starts measuring; the returned function stops it. */
export function watchBusy(
  cluster: Cluster | null,
  nodes: readonly number[],
  others: readonly number[],
): () => Busy {
  const read = () => ({
    at: performance.now(),
    machine: machineMs(),
    nodes: nodes.map(processorMs),
    others: others.reduce((sum, pid) => sum + processorMs(pid), 0) + processorMs(process.pid),
    backends: cluster?.processorMs() ?? new Map<number, number>(),
  });
  const from = read();
  return () => {
    const to = read();
    const ms = to.at - from.at;
    const all = ms * cpus().length;
    const ofNodes = to.nodes.map((spent, n) => spent - (from.nodes[n] ?? 0));
    const ofBackends = [...to.backends].map(([pid, spent]) => spent - (from.backends.get(pid) ?? 0));
    const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
    return {
      nodes: sum(ofNodes) / all,
      postgres: sum(ofBackends) / all,
      others: (to.others - from.others) / all,
      machine: (to.machine - from.machine) / all,
      busiestBackend: Math.max(0, ...ofBackends) / ms,
      busiestNode: Math.max(0, ...ofNodes) / ms,
    };
  };
}

/** CPU time of all programs so far, in milliseconds. */
function machineMs(): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = (
    /^cpu +(.*)$/m.exec(readFileSync('/proc/stat', 'utf8'))?.[1] ?? ''
  )
    .split(' ')
    .map(Number);
  return (user + nice + system + irq + softirq) * 10;
}

const FULL = 0.85;

/** The limiting factor of a round, in words. */
export function boundOf({ nodes, postgres, others, machine, busiestBackend, busiestNode }: Busy): string {
  const percent = (share: number) => `${Math.round(share * 100)} %`;
  const shares = `nodes ${percent(nodes)}, PostgreSQL ${percent(postgres)}, receivers and bench ${percent(others)} and other programs ${percent(Math.max(0, machine - nodes - postgres - others))} of ${cpus().length} cores`;
  const singles = `busiest backend ${percent(busiestBackend)}, busiest node ${percent(busiestNode)} of one core`;
  const found = () => {
    if (nodes + postgres + others > FULL) return 'CPU';
    if (machine > FULL) return 'CPU, which other programs were using';
    if (busiestBackend > FULL) return 'one PostgreSQL backend';
    if (busiestNode > FULL) return "one node's thread";
    return 'waiting for round trips, for commits to reach the disk, and for locks';
  };
  return `${found()} (${shares}; ${singles})`;
}
