import type { ClaimedDelivery, SentEventType } from '../../../model/delivery.ts';
import type { StoredDeliveries } from '../../changes/claims.ts';
import type { Changes } from '../../changes.ts';
import type { DeliveryStore, HeldAttempt } from '../../delivery-store.ts';
import type { Signs } from './keyed-requests.ts';
import type { Promised } from './promised.ts';

type Face = Pick<DeliveryStore, 'claimDeliveries' | 'claimProbe'>;

const NO_BYTES = new Uint8Array();

/** Claims as they cross to the writer and back: what is held as one text, deliveries as one text and one piece of bytes. */
export function claimFace(
  { claimLanes, claimOldest }: Pick<Promised<Changes>, 'claimLanes' | 'claimOldest'>,
  signs: () => Signs,
): Face {
  return {
    async claimDeliveries({ lanes, ...terms }) {
      const stored = lanes.map((lane) => ({ ...lane, held: heldText(lane.held) }));
      const claims = await claimLanes({ lanes: stored, ...terms, process: signs().name });
      return claims.map(({ deliveries, ...claim }) => ({
        ...claim,
        deliveries: toClaimed(deliveries),
        bodies: deliveries?.bodies ?? NO_BYTES,
      }));
    },
    async claimProbe({ held, ...terms }) {
      const probe = await claimOldest({ held: heldText(held), ...terms, process: signs().name });
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
