import type { DeliveryBundle, NewDelivery, Remainder, RoutedEvent, SkipReason } from '../../model/event.ts';

/** Maximum number of endpoints in each of an event's remainders: a commit's worth of the writer's time. */
export const ENDPOINTS_OF_A_REMAINDER = 250;

/** A delivery that the storing process can lease immediately, without a claim. */
export interface HeldDelivery extends NewDelivery {
  inHand?: boolean;
}

/** Deliveries of one event with the same status and bytes, in messages to the writer. */
interface HeldBundle extends DeliveryBundle, Pick<HeldDelivery, 'inHand'> {}

/** Endpoints that did not get an event, for the same reason. */
export interface SkipBundle {
  reason: SkipReason;
  /** JSON array of their ids. */
  endpointIds: string;
}

/** A routed event in messages to the writer. */
export interface BundledEvent extends RoutedEvent {
  deliveries: [];
  bundles: HeldBundle[];
  /** Number of deliveries in all its bundles. */
  count: number;
  skipped: [];
  skips: SkipBundle[];
}

/**
 * An event with its deliveries in bundles: passing an object with a body for each would cost more than inserting its row. The same
 * is true of skipped endpoints. `inHand` are the ids of deliveries to lease without a claim.
 */
export function bundled(
  { deliveries, skipped, ...routed }: RoutedEvent,
  inHand: ReadonlySet<string>,
): BundledEvent {
  const held = deliveries.map((delivery) => ({ ...delivery, inHand: inHand.has(delivery.id) }));
  const count = deliveries.length;
  const bundles = bundlesOf(held);
  return { ...routed, deliveries: [], bundles, count, skipped: [], skips: byReason(skipped) };
}

/** Deliveries grouped by status and bytes. */
function bundlesOf(deliveries: readonly HeldDelivery[]): HeldBundle[] {
  const all: HeldBundle[] = [];
  // Equal texts are mostly the same object, whose hash is computed once. Each of ten thousand endpoints may have its own tail.
  const byBytes = new Map<string, Map<string, HeldBundle[]>>();
  for (const { id, endpointId, ...like } of deliveries) {
    const ofBody = getOrAdd(byBytes, like.body, () => new Map<string, HeldBundle[]>());
    const alike = getOrAdd(ofBody, like.tail?.hash ?? '', () => []);
    // Ids need no escaping.
    const pair = `"${id}","${endpointId}"`;
    const known = alike.find((each) => each.status === like.status && each.inHand === like.inHand);
    if (known !== undefined) {
      known.deliveries += `,${pair}`;
      continue;
    }
    const bundle = { ...like, deliveries: `[${pair}` };
    alike.push(bundle);
    all.push(bundle);
  }
  for (const bundle of all) bundle.deliveries += ']';
  return all;
}

/** Longer bodies, in characters, are passed to the writer in shared memory: copying 10,000 bodies of 7 KB into one message took 0.4 s. */
const SEALED_FROM = 65_536;

/** Bundles as they are sealed. Those that differ only in their tails share a body, which is the longer part by far. */
export interface SealedBundles {
  bodies: string[];
  /** `bodyAt` is the place of its body. */
  bundles: (Omit<DeliveryBundle, 'body'> & { bodyAt: number })[];
}

/** A part of an event with its deliveries bundled. */
export function remainderOf(deliveries: readonly NewDelivery[]): Remainder {
  const bundles = bundlesOf(deliveries);
  const characters = bundles.reduce((sum, { body, tail }) => sum + body.length + (tail?.text.length ?? 0), 0);
  if (characters <= SEALED_FROM) return { bundles, batched: [] };
  const places = new Map<string, number>();
  const placed = bundles.map(({ body, ...bundle }) => {
    const bodyAt = getOrAdd(places, body, () => places.size);
    return { ...bundle, bodyAt };
  });
  const json = JSON.stringify({ bodies: [...places.keys()], bundles: placed } satisfies SealedBundles);
  const sealed = new SharedArrayBuffer(Buffer.byteLength(json));
  Buffer.from(sealed).write(json);
  return { bundles: [], sealed, batched: [] };
}

/** The bundles that are sealed in a part; undefined if none are. */
export function sealedIn({ sealed }: Remainder): SealedBundles | undefined {
  return sealed && (JSON.parse(Buffer.from(sealed).toString()) as SealedBundles);
}

/** Sealed bundles with their bodies. */
export function unsealed({ bodies, bundles }: SealedBundles): DeliveryBundle[] {
  return bundles.map(({ bodyAt, ...bundle }) => ({ ...bundle, body: bodies[bodyAt] ?? '' }));
}

function getOrAdd<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  const known = map.get(key);
  if (known !== undefined) return known;
  const added = create();
  map.set(key, added);
  return added;
}

/** The deliveries of an event, bundled or not. */
export function unbundled(routed: RoutedEvent | BundledEvent): HeldDelivery[] {
  if (!('bundles' in routed)) return routed.deliveries;
  return routed.bundles.flatMap(({ deliveries, ...like }) =>
    idsIn(deliveries).map((ids) => ({ ...ids, ...like })),
  );
}

/** The deliveries of a bundle. */
export function idsIn(deliveries: string): Pick<NewDelivery, 'id' | 'endpointId'>[] {
  const ids = JSON.parse(deliveries) as string[];
  return Array.from({ length: ids.length / 2 }, (_, i) => ({
    id: ids[2 * i] ?? '',
    endpointId: ids[2 * i + 1] ?? '',
  }));
}

/** Number of deliveries of an event, bundled or not. */
export function countDeliveries(routed: RoutedEvent | BundledEvent): number {
  return 'bundles' in routed ? routed.count : routed.deliveries.length;
}

/** The endpoints that did not get an event, by reason. */
export function skipsOf(routed: RoutedEvent | BundledEvent): SkipBundle[] {
  return 'skips' in routed ? routed.skips : byReason(routed.skipped);
}

function byReason(skipped: RoutedEvent['skipped']): SkipBundle[] {
  const groups = Map.groupBy(skipped, ({ reason }) => reason);
  return Array.from(groups, ([reason, skips]) => ({
    reason,
    endpointIds: JSON.stringify(skips.map(({ endpointId }) => endpointId)),
  }));
}
