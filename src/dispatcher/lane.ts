import { letGo } from '../lib/lists.ts';
import { createFifo } from '../lib/queues.ts';
import type { ClaimedDelivery } from '../model/delivery.ts';
import { DEFAULT_RATE_LIMIT_PER_MINUTE } from '../model/webhook.ts';
import type { LaneClaim, LaneDemand, Taking } from '../store/delivery-store.ts';
import { type Alarm, createAlarm } from './alarms.ts';
import type { ClaimedBytes } from './claimed-bytes.ts';
import { type Health, IN_FLIGHT_PER_ENDPOINT, type Waiter } from './slots.ts';
import type { LaneTarget } from './target.ts';
import { createThrottle, WINDOW_MS } from './throttle.ts';

/**
 * Deliveries claimed ahead for a healthy endpoint, so that the commit of the next claim overlaps with
 * sending.
 */
const AHEAD = 40;
/** Maximum size of claimed, unsent bodies, unless a single one is larger: a body can have 256 KB. */
const MOST_BYTES = 1_048_576;
/** One slot in this many is for the oldest deliveries, so that urgent ones cannot delay others forever. */
const PLACES_AN_OLDEST = 4;
/** Maximum difference between the stored time and our own time of the same attempt. */
const OWN_WITHIN_MS = 50;
/** Due immediately, in Unix milliseconds. */
const AT_ONCE = 0;

/**
 * The work of one endpoint in memory; nothing else writes its fields. Its states, by what it holds:
 *   idle       nothing due, nothing claimed                     → due, or removed
 *   due        `#dueAt` has passed; waits for a claim           → claimed | idle
 *   claimed    has deliveries; sends while there is room        → claimed | due | idle
 *   doubtful   failed since the last claim: sends nothing until a claim confirms that it was not paused
 */
export class Lane implements Waiter {
  readonly endpointId: string;
  readonly throttle = createThrottle(DEFAULT_RATE_LIMIT_PER_MINUTE);
  /** Managed by the agenda. */
  readonly alarm: Alarm<Lane> = createAlarm<Lane>(this);
  #tenantId: string;
  /**
   * The prepared current version of the endpoint; null before the first claim, and if it was paused or
   * deleted.
   */
  #target: LaneTarget | null = null;
  /** Whether deliveries are sent one at a time, in the order of events; as of the last known version of the endpoint. */
  #isOrdered = false;
  /** When its next unclaimed delivery is due, Unix milliseconds; Infinity if none is known. */
  #dueAt = Number.POSITIVE_INFINITY;
  readonly #hand: Hand;
  /** Number of its deliveries that are being stored; see {@link reserve}. */
  #reserved = 0;
  /** All claimed deliveries without a stored outcome, in flight or not: ID to attempt number. */
  readonly #held = new Map<string, number>();
  #inFlight = 0;
  /** Number of deliveries claimed so far, less those given up. */
  #claimed = 0;
  #claiming = false;
  #probing = false;
  /**
   * Whether the last attempt succeeded. Only then are more deliveries claimed than can be sent immediately.
   */
  #healthy = false;
  /** Whether the last attempt got any response. */
  #answers = false;
  /**
   * False if the store is known to count no failures of the endpoint: then a success has nothing to reset.
   */
  #failing = true;
  /**
   * Failures so far; those stored; those stored when the claim in progress started, and when the last one
   * did.
   */
  #failures = 0;
  #storedFailures = 0;
  #askedFailures = 0;
  #confirmedFailures = 0;

  /** `target` is the target that was cached when the endpoint last had a lane. */
  constructor(
    endpointId: string,
    tenantId: string,
    { target, claimedBytes }: { target: LaneTarget | null; claimedBytes: ClaimedBytes },
  ) {
    this.endpointId = endpointId;
    this.#tenantId = tenantId;
    this.#target = target;
    this.#hand = createHand({
      giveBack: (id) => {
        this.#held.delete(id);
        this.#claimed--;
      },
      count: (bytes) => claimedBytes.add(this.#tenantId, bytes),
    });
    if (target === null) return;
    this.#isOrdered = target.endpoint.ordered;
    this.throttle.setLimit(target.endpoint.settings.rate_limit_per_minute);
  }

  get tenantId(): string {
    return this.#tenantId;
  }

  get target(): LaneTarget | null {
    return this.#target;
  }

  /** Whether the store may count failures that a success resets, or a success has to be reported. */
  get isFailing(): boolean {
    return this.#failing;
  }

  get health(): Health {
    if (this.#answers) return 'proven';
    return this.#inFlight === 0 ? 'first' : 'further';
  }

  /**
   * Whether a probe of the endpoint is being claimed or sent; a second one would not know what the first
   * holds.
   */
  get isProbing(): boolean {
    return this.#probing;
  }

  /** Whether a failure may have paused the endpoint; the store decides that at commit. */
  get #isDoubtful(): boolean {
    return this.#failures !== this.#confirmedFailures;
  }

  maySend(now: number, inFlightLimit: number): boolean {
    if (this.#hand.size === 0 || this.#target === null || this.#isDoubtful) return false;
    const limit = this.#isOrdered ? 1 : inFlightLimit;
    return this.#inFlight < limit && this.throttle.room(now) > 0;
  }

  /** Size of the largest recent body; 0 if none is known. */
  get bodyBytes(): number {
    return this.#hand.bodyBytes;
  }

  /** What its next claim is for; each kind has its own queue. */
  get claimKind(): ClaimKind {
    if (this.#isDoubtful) return 'confirming';
    return this.#answers ? 'proven' : 'unproven';
  }

  /**
   * Whether a claim is worthwhile: half of the deliveries claimed ahead are used up, or the state must be
   * confirmed.
   */
  wantsClaim(now: number, wallNow: number): boolean {
    const due = this.#dueAt <= wallNow;
    if (this.#claiming) return false;
    // The first claim, even an empty one, returns the limit and the state of the endpoint.
    if (this.#target === null) return due;
    if (this.#isDoubtful) return this.#failures === this.#storedFailures && (due || this.#hand.size > 0);
    return due && this.#hand.size <= AHEAD / 2 && this.demand(now) > 0;
  }

  /** Number of further deliveries to claim, within the rate limit. */
  demand(now: number): number {
    const room = this.#isOrdered
      ? 1 - this.#inFlight
      : IN_FLIGHT_PER_ENDPOINT - this.#inFlight + (this.#healthy ? AHEAD : 0);
    const most = Math.max(1, Math.floor(MOST_BYTES / Math.max(this.#hand.bodyBytes, 1)));
    // Before the first claim, the throttle has the default limit.
    return Math.max(0, Math.min(room, most, this.throttle.room(now)) - this.#hand.size - this.#reserved);
  }

  /** When time alone changes what the lane can do, monotonic; Infinity: never. */
  nextLookAt(now: number, wallNow: number): number {
    const waits = this.#dueAt > wallNow && !this.wantsClaim(now, wallNow);
    const dueAt = waits ? now + this.#dueAt - wallNow : Number.POSITIVE_INFINITY;
    const hasWork = this.#hand.size > 0 || this.#dueAt <= wallNow;
    if (hasWork && this.throttle.room(now) === 0) return Math.min(dueAt, this.throttle.nextRoomAt(now));
    if (hasWork || dueAt !== Number.POSITIVE_INFINITY || this.isForgettable(now)) return dueAt;
    return Math.max(now, this.throttle.emptyAt());
  }

  /** Whether its work waits only for the rate limit. */
  isThrottled(now: number, wallNow: number): boolean {
    return (this.#hand.size > 0 || this.#dueAt <= wallNow) && this.throttle.room(now) === 0;
  }

  /** Whether it holds nothing, so that a new lane would be identical. */
  isForgettable(now: number): boolean {
    const busy =
      this.#claiming || this.#probing || this.#inFlight > 0 || this.#hand.size + this.#reserved > 0;
    return !busy && this.#dueAt === Number.POSITIVE_INFINITY && this.throttle.emptyAt() <= now;
  }

  belongTo(tenantId: string): void {
    this.#tenantId = tenantId;
  }

  workIsDue(dueAt: number): void {
    this.#dueAt = Math.min(this.#dueAt, dueAt);
  }

  shiftDue(deltaMs: number): void {
    this.#dueAt += deltaMs;
  }

  /** due → claiming: the request to the store. Work stored from now on makes the lane due again. */
  beginClaim(limit: number): LaneDemand {
    this.#claiming = true;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#askedFailures = this.#storedFailures;
    const { endpointId } = this;
    const oldest =
      Math.floor((this.#claimed + limit) / PLACES_AN_OLDEST) - Math.floor(this.#claimed / PLACES_AN_OLDEST);
    return { endpointId, limit, oldest, knownVersion: this.#knownVersion, held: this.held() };
  }

  /**
   * claiming → claimed or idle. `target` is a newer version of the endpoint; deliveries claimed with the
   * older one are dropped.
   */
  endClaim(claim: LaneClaim, target: LaneTarget | null, until: number): void {
    this.#claiming = false;
    this.#confirmedFailures = this.#askedFailures;
    if (claim.nextDueAt !== null) this.workIsDue(claim.nextDueAt);
    if (claim.endpoint === 'gone') {
      this.#target = null;
      this.#hand.clear();
      return;
    }
    if (target !== null) this.#adopt(target);
    this.#add({ deliveries: claim.deliveries, bodies: claim.deliveries[0]?.bytes ?? null }, until);
  }

  /**
   * Counts the attempts of a process that the endpoint was taken over from, unless this one has sent requests
   * itself meanwhile. Times are Unix milliseconds; `offset` converts them to monotonic ones.
   */
  wasSentTo(starts: readonly number[], offset: number): void {
    const known = this.throttle.emptyAt() - WINDOW_MS;
    for (const startedAt of starts)
      if (startedAt + offset > known + OWN_WITHIN_MS) this.throttle.record(startedAt + offset);
  }

  /** claiming → due: the store did not respond. */
  claimFailed(dueAt: number): void {
    this.#claiming = false;
    this.workIsDue(dueAt);
  }

  /** True from the claim or reservation of a delivery until its outcome is stored. */
  holds(deliveryId: string): boolean {
    return this.#held.has(deliveryId);
  }

  /**
   * Number of deliveries, of `count` about to be stored, that can be sent immediately; 0 if others are
   * waiting.
   */
  roomFor(count: number, now: number, wallNow: number): number {
    if (this.#target === null || this.#claiming || this.#isDoubtful || this.#dueAt <= wallNow) return 0;
    if (this.#isOrdered) return 0; // only the store knows which one is first
    return Math.min(count, this.demand(now));
  }

  /**
   * Reserves room for deliveries until {@link settle}, and returns what their commit needs to know about the
   * lane.
   */
  reserve(deliveryIds: readonly string[]): Taking['lanes'][number] {
    this.#reserved += deliveryIds.length;
    for (const id of deliveryIds) this.#held.set(id, 1);
    return { endpointId: this.endpointId, knownVersion: this.#knownVersion, deliveryIds: [...deliveryIds] };
  }

  /** reserved → claimed, for the deliveries that the commit assigned to this process. */
  settle(deliveries: readonly ClaimedDelivery[], taken: ReadonlySet<string>, until: number): void {
    this.#reserved -= deliveries.length;
    for (const { id } of deliveries) this.#held.delete(id);
    this.#add({ deliveries: deliveries.filter(({ id }) => taken.has(id)), bodies: null }, until);
  }

  /**
   * claimed → in flight: takes the next delivery and counts it towards the rate limit; null if no delivery is
   * left in time.
   */
  depart(now: number): ClaimedDelivery | null {
    if (this.#hand.expire(now)) this.workIsDue(AT_ONCE);
    const delivery = this.#hand.take();
    if (delivery === null) return null;
    this.throttle.take(now); // at the time of sending, because a claimed delivery may wait for its turn
    this.#inFlight++;
    return delivery;
  }

  beginProbe(): void {
    this.#probing = true;
  }

  /**
   * Like {@link depart}, for the oldest delivery of a paused endpoint; false if the rate limit is reached.
   */
  departProbe({ id, attempt }: ClaimedDelivery, limit: number, now: number): boolean {
    this.throttle.setLimit(limit);
    if (!this.throttle.take(now)) return false;
    this.#held.set(id, attempt);
    this.#inFlight++;
    return true;
  }

  endProbe(): void {
    this.#probing = false;
  }

  /**
   * An attempt ended. Returns the number of failures so far, which the caller passes to {@link
   * failuresReset}.
   */
  landed(failed: boolean, answered: boolean): number {
    this.#healthy = !failed;
    this.#answers = answered;
    if (failed) {
      this.#failures++;
      this.#failing = true;
    }
    return this.#failures;
  }

  /** The store has reset the endpoint's failures; `failures` is the number that {@link landed} returned. */
  failuresReset(failures: number): void {
    if (this.#failures === failures) this.#failing = false;
  }

  /** in flight → idle, due or claimed: the outcome is stored, or there is none. */
  leave(deliveryId: string, failed: boolean): void {
    this.#inFlight--;
    this.#held.delete(deliveryId);
    if (failed) this.#storedFailures++;
  }

  /** The endpoint was changed: no further request uses the cached copy. */
  dropCopy(dueAt: number): void {
    this.#hand.clear();
    this.#target = null;
    this.workIsDue(dueAt);
  }

  /** Gives up what is claimed and not sent; false if there is nothing. */
  giveBack(dueAt: number): boolean {
    if (this.#hand.size === 0) return false;
    this.#hand.clear();
    this.workIsDue(dueAt);
    return true;
  }

  /** The deliveries it holds, in the form of a claim. */
  held(): LaneDemand['held'] {
    return Array.from(this.#held, ([id, attempt]) => ({ id, attempt }));
  }

  #adopt(target: LaneTarget): void {
    if (this.#hand.size > 0) this.dropCopy(AT_ONCE);
    this.#target = target;
    const { settings, consecutiveFailures, alarm, tenantId, ordered } = target.endpoint;
    this.#isOrdered = ordered;
    this.belongTo(tenantId);
    this.throttle.setLimit(settings.rate_limit_per_minute);
    const failures = consecutiveFailures + this.#failures - this.#confirmedFailures;
    if (failures === 0 && alarm === 'none') this.#failing = false;
  }

  get #knownVersion(): number {
    return this.#target?.endpoint.version ?? -1;
  }

  #add(dealt: Dealt, until: number): void {
    this.#hand.add(dealt, until);
    this.#claimed += dealt.deliveries.length;
    for (const { id, attempt } of dealt.deliveries) this.#held.set(id, attempt);
  }
}

/**
 * What a claim is for: to confirm that an endpoint that failed was not paused, which nothing may delay, as it holds deliveries until then;
 * for an endpoint that responded to the last request; or for another one.
 */
export type ClaimKind = (typeof CLAIM_KINDS)[number];
export const CLAIM_KINDS = ['confirming', 'proven', 'unproven'] as const;

/** Deliveries that are added together. */
interface Dealt {
  deliveries: readonly ClaimedDelivery[];
  /** The memory of their bodies if it is exclusive; null if others may use it. */
  bodies: Uint8Array | null;
}

/** After `until` (monotonic), their lease is too short for another attempt. */
interface Batch extends Dealt {
  next: number;
  until: number;
}

/** Claimed, unsent deliveries of one lane, in order of arrival. */
export interface Hand {
  readonly size: number;
  /** Size of the largest recent body: the largest of the last claim, or half the previous value. */
  readonly bodyBytes: number;
  add(dealt: Dealt, until: number): void;
  take(): ClaimedDelivery | null;
  /** Gives up expired deliveries; false if there were none. */
  expire(now: number): boolean;
  /** Gives up all deliveries. */
  clear(): void;
}

/**
 * Calls `giveBack` for each unsent delivery that is given up: the next claim may return it if it is still due. Calls `count` with the bytes of
 * bodies that are added and, negative, of those that leave.
 */
function createHand({
  giveBack,
  count,
}: {
  giveBack(deliveryId: string): void;
  count(bytes: number): void;
}): Hand {
  const batches = createFifo<Batch>();
  let size = 0;
  let bodyBytes = 0;

  function drop({ deliveries, next, bodies }: Batch): void {
    const left = deliveries.slice(next);
    for (const { id } of left) giveBack(id);
    count(-bytesOf(left));
    size -= left.length;
    // The garbage collector is slow to free them: they are older than most objects, and outside the heap that
    // it measures.
    if (bodies !== null) letGo(bodies);
    batches.shift();
  }

  return {
    get size() {
      return size;
    },
    get bodyBytes() {
      return bodyBytes;
    },
    add({ deliveries, bodies }, until) {
      if (deliveries.length === 0) return;
      batches.push({ deliveries, next: 0, until, bodies });
      size += deliveries.length;
      count(bytesOf(deliveries));
      bodyBytes = deliveries.reduce((most, { start, end }) => Math.max(most, end - start), bodyBytes / 2);
    },
    take() {
      for (let batch = batches.peek(); batch !== undefined; batch = batches.peek()) {
        const delivery = batch.deliveries[batch.next];
        if (delivery !== undefined) {
          batch.next++;
          size--;
          count(delivery.start - delivery.end);
          return delivery;
        }
        drop(batch);
      }
      return null;
    },
    expire(now) {
      const before = size;
      for (let batch = batches.peek(); batch !== undefined && batch.until < now; batch = batches.peek())
        drop(batch);
      return size < before;
    },
    clear() {
      for (let batch = batches.peek(); batch !== undefined; batch = batches.peek()) drop(batch);
    },
  };
}

function bytesOf(deliveries: readonly ClaimedDelivery[]): number {
  return deliveries.reduce((sum, { start, end }) => sum + end - start, 0);
}
