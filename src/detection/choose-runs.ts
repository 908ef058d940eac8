import type { DueSource } from '../store/source-store.ts';

/** The runs under way, and when each tenant last had one. */
export interface RunState {
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
 * Which of `due` to read now: one per host, for the tenant with the fewest runs, then the one whose last turn is oldest,
 * then the source that is due longest. Waiting for a host takes no slot.
 */
export function chooseRuns(due: readonly DueSource[], state: RunState): DueSource[] {
  const busy = new Set(state.busy);
  const running = new Map(state.running);
  const waiting = Map.groupBy(due, ({ tenantId }) => tenantId);
  const chosen: DueSource[] = [];
  const runsOf = (tenantId: string) => running.get(tenantId) ?? 0;
  const order = (a: string, b: string) =>
    runsOf(a) - runsOf(b) || (state.lastTurn.get(a) ?? 0) - (state.lastTurn.get(b) ?? 0);

  while (chosen.length < state.places && waiting.size > 0) {
    const tenantId = [...waiting.keys()].reduce((best, next) => (order(next, best) < 0 ? next : best));
    const queue = waiting.get(tenantId) ?? [];
    const index = runsOf(tenantId) < state.share ? queue.findIndex(({ host }) => !busy.has(host)) : -1;
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
