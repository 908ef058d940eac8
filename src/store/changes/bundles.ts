import type { NewDelivery, RoutedEvent, SkipReason } from '../../model/event.ts';

/** A delivery that the process which stores it may mean to send without a claim. */
export interface HeldDelivery extends NewDelivery {
  inHand?: boolean;
}

/** Deliveries of one event that begin alike and send the same bytes. */
interface DeliveryBundle extends Pick<HeldDelivery, 'body' | 'tail' | 'status' | 'inHand'> {
  /** JSON: an array of the id of a delivery and that of its endpoint in turn. */
  deliveries: string;
}

/** Endpoints that were not sent an event, for the same reason. */
export interface SkipBundle {
  reason: SkipReason;
  /** JSON: an array of their ids. */
  endpointIds: string;
}

/** A routed event as it crosses to the writer. */
interface BundledEvent extends RoutedEvent {
  deliveries: [];
  bundles: DeliveryBundle[];
  /** Deliveries in all of its bundles. */
  count: number;
  skipped: [];
  skips: SkipBundle[];
}

/**
 * An event with its deliveries in bundles: to pass an object for each, with its body, costs more than to insert its row. So
 * it is with those who are not sent it.
 * `inHand` are the ids of those that are to be sent without a claim.
 */
export function bundled(
  { deliveries, skipped, ...routed }: RoutedEvent,
  inHand: ReadonlySet<string>,
): BundledEvent {
  const bundles: DeliveryBundle[] = [];
  for (const { id, endpointId, ...rest } of deliveries) {
    const like = { ...rest, inHand: inHand.has(id) };
    // Ids need no escaping.
    const pair = `"${id}","${endpointId}"`;
    const known = bundles.find((bundle) => isAlike(bundle, like));
    if (known === undefined) bundles.push({ ...like, deliveries: pair });
    else known.deliveries += `,${pair}`;
  }
  for (const bundle of bundles) bundle.deliveries = `[${bundle.deliveries}]`;
  const count = deliveries.length;
  return { ...routed, deliveries: [], bundles, count, skipped: [], skips: byReason(skipped) };
}

/** The deliveries of an event, in bundles or not. */
export function unbundled(routed: RoutedEvent | BundledEvent): HeldDelivery[] {
  if (!('bundles' in routed)) return routed.deliveries;
  return routed.bundles.flatMap(({ deliveries, ...rest }) => {
    const ids = JSON.parse(deliveries) as string[];
    return Array.from({ length: ids.length / 2 }, (_, i) => ({
      id: ids[2 * i] ?? '',
      endpointId: ids[2 * i + 1] ?? '',
      ...rest,
    }));
  });
}

/** How many deliveries an event has, in bundles or not. */
export function countDeliveries(routed: RoutedEvent | BundledEvent): number {
  return 'bundles' in routed ? routed.count : routed.deliveries.length;
}

/** Whom an event was not sent to, by the reason. */
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

function isAlike(a: Omit<DeliveryBundle, 'deliveries'>, b: Omit<DeliveryBundle, 'deliveries'>): boolean {
  return a.inHand === b.inHand && a.status === b.status && a.tail?.hash === b.tail?.hash && a.body === b.body;
}
