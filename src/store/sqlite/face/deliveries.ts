import type { Clock } from '../../../lib/clock.ts';
import type { AttemptRecord, ClaimedDelivery, SentEventType } from '../../../model/delivery.ts';
import { bundled } from '../../changes/bundles.ts';
import type { StoredDeliveries } from '../../changes/claims.ts';
import type { StoredAttempt } from '../../changes/deliveries.ts';
import type { Recovery } from '../../changes/processes.ts';
import type { Changes } from '../../changes.ts';
import type { DeliveryStore, HeldAttempt } from '../../delivery-store.ts';
import type { MadeDueFeed } from '../../made-due.ts';
import type { Presence } from '../../presence.ts';
import type { SignalStore } from '../../signal-store.ts';
import type { SourceStore } from '../../source-store.ts';
import type { Store } from '../../store.ts';
import type { storageReads } from '../reads/counts.ts';
import type { AttemptDetail } from '../reads/deliveries.ts';
import type { Promised } from './promised.ts';

type Face = Pick<DeliveryStore, 'claimDeliveries' | 'claimProbe'>;

/** Claims as they cross to the writer and back: what is held as one text, deliveries as one text and one piece of bytes. */
export function claimFace(
  { claimLanes, claimOldest }: Pick<Promised<Changes>, 'claimLanes' | 'claimOldest'>,
  presence: Presence,
): Face {
  return {
    async claimDeliveries({ lanes, ...terms }) {
      const stored = lanes.map((lane) => ({ ...lane, held: heldText(lane.held) }));
      const claims = await claimLanes({ lanes: stored, ...terms, process: await presence.name() });
      return claims.map((claim) => ({ ...claim, deliveries: toClaimed(claim.deliveries) }));
    },
    async claimProbe({ held, ...terms }) {
      const probe = await claimOldest({ held: heldText(held), ...terms, process: await presence.name() });
      const [delivery] = toClaimed(probe?.delivery ?? null);
      return probe === null || delivery === undefined ? null : { endpoint: probe.endpoint, delivery };
    },
  };
}

function heldText(held: readonly HeldAttempt[]): string {
  return `{${held.map(({ id, attempt }) => `"${id}":${attempt}`).join(',')}}`;
}

function toClaimed(stored: StoredDeliveries | null): ClaimedDelivery[] {
  if (stored === null) return [];
  const { buffer, byteOffset, byteLength } = stored.bodies;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  const list = JSON.parse(stored.list) as (string | number)[];
  const deliveries: ClaimedDelivery[] = [];
  let start = 0;
  for (let i = 0; i < list.length; i += 5) {
    const end = start + (list[i + 4] as number);
    const [attempt, attemptsInCycle] = [list[i + 2] as number, list[i + 3] as number];
    const [id, eventType] = [list[i] as string, list[i + 1] as SentEventType];
    deliveries.push({ id, eventType, attempt, attemptsInCycle, bytes, start, end });
    start = end;
  }
  return deliveries;
}

/** Signals whose deliveries are taken as they are stored: what crosses to the writer names each delivery once. */
export function inHandFace(
  { commitSignalsHeld }: Pick<Promised<Changes>, 'commitSignalsHeld'>,
  presence: Presence,
  publish: MadeDueFeed['publish'],
): Pick<SignalStore, 'commitSignalsInHand'> {
  return {
    async commitSignalsInHand(signals, taking) {
      const { lanes, ...terms } = taking;
      const wanted = new Set(lanes.flatMap(({ deliveryIds }) => deliveryIds));
      const stored = signals.map((signal) => ({
        ...signal,
        events: signal.events.map((routed) => bundled(routed, wanted)),
      }));
      const known = lanes.map(({ endpointId, knownVersion }) => `"${endpointId}":${knownVersion}`);
      const { committed, refused } = await commitSignalsHeld(stored, {
        ...terms,
        lanes: `{${known.join(',')}}`,
        process: await presence.name(),
      });
      const created = signals.filter((_, i) => committed[i]?.status === 'created');
      const taken = created
        .flatMap(({ events }) => events.flatMap(({ deliveries }) => deliveries))
        .filter(({ id, endpointId }) => wanted.has(id) && !refused.includes(endpointId));
      const result = { committed, taken: taken.map(({ id }) => id) };
      publish([['commitSignalsInHand', [signals, taking]]], [result]);
      return result;
    },
  };
}

/** Outcomes as they cross to the writer: flat, as an object costs more to pass than its row to store. */
export function outcomeFace({
  recordDelivered,
  recordAttempt,
}: Pick<Promised<Changes>, 'recordDelivered' | 'recordAttempt'>): Pick<DeliveryStore, 'recordOutcome'> {
  return {
    recordOutcome(outcome) {
      const attempt = toStored(outcome.attempt);
      const { deliveryId, streak, next, probe } = outcome;
      if (next.status !== 'delivered' || streak !== 'keep' || probe) {
        return recordAttempt({ ...outcome, attempt });
      }
      const { id, attempt: number, startedAt, durationMs, detail } = attempt;
      return recordDelivered(deliveryId, id, number, startedAt, durationMs, detail);
    },
  };
}

/** Made before the transaction, which should hold its lock for SQL only. */
function toStored({ id, attempt, startedAt, durationMs, ...rest }: AttemptRecord): StoredAttempt {
  const { sent, response, error, timings } = rest;
  const detail = { sent, response, error, timings } satisfies AttemptDetail;
  return { id, attempt, startedAt, durationMs, detail: JSON.stringify(detail) };
}

type RecoveryFace = Pick<DeliveryStore, 'recoverDeliveries' | 'hasDeparted'> &
  Pick<SourceStore, 'recoverSources' | 'claimSources'> &
  Pick<Store, 'countOthers'>;

export interface RecoveryParts {
  changes: Pick<Promised<Changes>, 'endLaneLeases' | 'endSourceLeases' | 'leaseSources'>;
  reads: Promised<Pick<ReturnType<typeof storageReads>, 'hasSilent' | 'countHeard'>> &
    Pick<DeliveryStore, 'listDueLanes'>;
  presence: Presence;
  clock: Clock;
}

/** What dead processes held. A process that lives keeps its leases, so that two on one file never send the same. */
export function recoveryFace({ changes, reads, presence, clock }: RecoveryParts): RecoveryFace {
  /** Null where there is nothing to end: to ask for it would be a commit. */
  async function recovery(own: boolean, now: number): Promise<Recovery | null> {
    const process = await presence.name();
    return own || (await reads.hasSilent(process, now)) ? { process, own, now } : null;
  }

  return {
    countOthers: async () => reads.countHeard(await presence.name(), clock.now()),
    hasDeparted: async () => (await recovery(false, clock.now())) !== null,
    async recoverDeliveries({ own }) {
      const asked = await recovery(own, clock.now());
      if (asked !== null) await changes.endLaneLeases(asked);
      return reads.listDueLanes();
    },
    async recoverSources({ own, now }) {
      const asked = await recovery(own, now);
      return asked === null ? [] : changes.endSourceLeases(asked);
    },
    claimSources: async (claim) => changes.leaseSources({ ...claim, process: await presence.name() }),
  };
}
