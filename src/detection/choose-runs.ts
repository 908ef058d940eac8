import type { DueSource } from '../store/source-store.ts';

/** What is being read now, and who had turns. */
export interface Turns {
  /** Hosts that are being asked. */
  busy: ReadonlySet<string>;
  /** Runs of each tenant. */
  running: ReadonlyMap<string, number>;
  /** The number of each tenant's last turn; greater is later. */
  lastTurn: Pick<ReadonlyMap<string, number>, 'get'>;
  places: number;
  /** The most places that one tenant may have. */
  share: number;
}

/**
 * Which of `due` are read now: one a host, for the tenant with the fewest runs, among equals for who had no turn for
 * longest, then for what waits longest. Whoever waits for a host holds no place.
 */
export function chooseRuns(due: readonly DueSource[], turns: Turns): DueSource[] {
  const busy = new Set(turns.busy);
  const running = new Map(turns.running);
  const waiting = Map.groupBy(due, ({ tenantId }) => tenantId);
  const chosen: DueSource[] = [];
  const runsOf = (tenantId: string) => running.get(tenantId) ?? 0;
  const order = (a: string, b: string) =>
    runsOf(a) - runsOf(b) || (turns.lastTurn.get(a) ?? 0) - (turns.lastTurn.get(b) ?? 0);

  while (chosen.length < turns.places && waiting.size > 0) {
    const tenantId = [...waiting.keys()].reduce((best, next) => (order(next, best) < 0 ? next : best));
    const queue = waiting.get(tenantId) ?? [];
    const index = runsOf(tenantId) < turns.share ? queue.findIndex(({ host }) => !busy.has(host)) : -1;
    const source = queue[index];
    if (source === undefined) {
      waiting.delete(tenantId);
      continue;
    }
    queue.splice(index, 1);
    busy.add(source.host);
    running.set(tenantId, runsOf(tenantId) + 1);
    chosen.push(source);
  }
  return chosen;
}
