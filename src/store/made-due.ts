import { addAll } from '../lib/lists.ts';
import type { NewDelivery, NewWork, RoutedEvent } from '../model/event.ts';
import type { PlanFit } from './account-store.ts';
import { unbundled } from './changes/event-bundles.ts';
import type { AnyChange } from './script.ts';
import type { MadeDue, Store } from './store.ts';
import { storedEvents, storesEvents } from './stored-events.ts';
import { changeIn } from './weights.ts';

type Effects = {
  [K in keyof Store]?: Store[K] extends (...args: infer A) => Promise<infer R>
    ? (args: A, result: R) => Partial<MadeDue> | null
    : never;
};

/**
 * The changes that make something due, each with how its arguments and result show it; null: nothing became due. Those that
 * store events are listed in `stored-events.ts`.
 */
const EFFECTS: Effects = {
  commitSignalsInHand: (args, result) =>
    ofEvents(storedEvents(['commitSignalsInHand', args], result), new Set(result.taken)),
  continueErasure: (_, { endpointIds }) => ({ endpoints: endpointIds }),

  storeRemainder: ([{ tenantId }], stored) =>
    stored && {
      due: [
        ...stored.due.map((endpointId): NewWork => ({ endpointId, tenantId })),
        ...stored.rejected.map((endpointId): NewWork => ({ endpointId, tenantId, rejected: true })),
      ],
    },
  commitBatch: ([{ tenantId, delivery }], done) => (done ? { due: workOf(tenantId, [delivery]) } : null),
  commitBackfill: ([{ tenantId, items }], done) =>
    done ? { due: items.flatMap(({ delivery }) => workOf(tenantId, [delivery])) } : null,

  replayDelivery: ([tenantId], result) =>
    result.outcome === 'replayed' ? { due: [{ endpointId: result.endpointId, tenantId }] } : null,
  replayList: ([{ endpointId, tenantId }], count) => (count > 0 ? { due: [{ endpointId, tenantId }] } : null),
  replayRange: ([{ endpointId, tenantId }], { replayed }) =>
    replayed > 0 ? { due: [{ endpointId, tenantId }] } : null,

  updateEndpoint: ([{ id }], outcome) => (outcome === 'updated' ? { endpoints: [id] } : null),
  pauseEndpoint: ([, id], done) => (done ? { endpoints: [id] } : null),
  resumeEndpoint: ([{ id, tenantId }], outcome) =>
    outcome === 'resumed' ? { endpoints: [id], due: [{ endpointId: id, tenantId }] } : null,
  deleteEndpoint: ([, id], done) => (done ? { endpoints: [id] } : null),
  renewSubscription: ([{ endpoint }], done) => {
    const { id, tenantId } = endpoint;
    return done ? { endpoints: [id], due: [{ endpointId: id, tenantId }] } : null;
  },
  endSubscription: (_, id) => (id === null ? null : { endpoints: [id] }),
  endSubscriptions: (_, endpoints) => ({ endpoints }),
  setPlan: ([tenantId], fit) => fit && ofPlan(tenantId, fit),
  endTrial: ([tenantId], fit) => fit && ofPlan(tenantId, fit),

  createSource: (_, outcome) => (outcome === 'created' ? { sources: true } : null),
  changeSource: (_, outcome) => (outcome === 'changed' ? { sources: true } : null),
  deleteSource: (_, done) => (done ? { sources: true } : null),
  runSource: (_, done) => (done ? { sources: true } : null),
};

/** Notifies listeners of what changes made due, from their names, arguments and results. */
export interface MadeDueFeed {
  listen(listener: (made: MadeDue) => void): void;
  /** For the changes of one commit, without those at the indexes of `failed`. */
  publish(
    changes: readonly AnyChange[],
    results: readonly unknown[],
    failed?: readonly { index: number }[],
  ): void;
}

export function createMadeDueFeed(): MadeDueFeed {
  const listeners: ((made: MadeDue) => void)[] = [];
  return {
    listen: (listener) => void listeners.push(listener),
    publish(changes, results, failed = []) {
      if (listeners.length === 0) return;
      const made: MadeDue = { due: [], endpoints: [], sources: false };
      const lost = new Set(failed.map(({ index }) => index));
      for (let index = 0; index < changes.length; index++) {
        const change = changes[index];
        if (change !== undefined && !lost.has(index)) add(made, changeIn(change), results[index]);
      }
      if (made.due.length === 0 && made.endpoints.length === 0 && !made.sources) return;
      for (const listener of listeners) listener(made);
    },
  };
}

function add(all: MadeDue, [name, args]: AnyChange, result: unknown): void {
  const effect = EFFECTS[name as keyof Store] as
    | ((args: readonly unknown[], result: unknown) => Partial<MadeDue> | null)
    | undefined;
  // Most changes are outcomes, which make nothing due.
  if (effect === undefined && !storesEvents([name, args])) return;
  const made = effect === undefined ? ofEvents(storedEvents([name, args], result)) : effect(args, result);
  const { due = [], endpoints = [], sources = false } = made ?? {};
  addAll(all.due, due);
  addAll(all.endpoints, endpoints);
  all.sources ||= sources;
}

function ofEvents(events: readonly RoutedEvent[], taken?: ReadonlySet<string>): Partial<MadeDue> {
  return { due: events.flatMap((routed) => workOf(routed.event.tenantId, unbundled(routed), taken)) };
}

function ofPlan(tenantId: string, { paused, resumed }: PlanFit): Partial<MadeDue> {
  return {
    endpoints: [...paused, ...resumed],
    due: resumed.map((endpointId) => ({ endpointId, tenantId })),
  };
}

/** Except for deliveries in `taken`, which were leased in the commit that stores them. */
function workOf(
  tenantId: string,
  deliveries: readonly NewDelivery[],
  taken?: ReadonlySet<string>,
): NewWork[] {
  const work: NewWork[] = [];
  for (const { id, endpointId, status } of deliveries) {
    if (status === 'pending' && !taken?.has(id)) work.push({ endpointId, tenantId });
    if (status === 'rejected') work.push({ endpointId, tenantId, rejected: true });
  }
  return work;
}
