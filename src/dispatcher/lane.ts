import { letGo } from '../lib/own-bytes.ts';
import { createFifo } from '../lib/queues.ts';
import type { ClaimedDelivery } from '../model/delivery.ts';
import { DEFAULT_RATE_LIMIT_PER_MINUTE } from '../model/webhook.ts';
import type { LaneClaim, LaneDemand, Taking } from '../store/delivery-store.ts';
import { type Alarm, createAlarm } from './alarms.ts';
import { type Health, IN_FLIGHT_PER_ENDPOINT, type Waiter } from './slots.ts';
import type { LaneTarget } from './target.ts';
import { createThrottle, WINDOW_MS } from './throttle.ts';

/** Deliveries claimed ahead for a healthy endpoint, so that the next claim's commit overlaps with sending. */
const AHEAD = 40;
/** What it may hold of bodies that are claimed and not sent, unless one alone has more: they reach 256 KB. */
const MOST_BYTES = 1_048_576;
/** One slot in this many goes to what has waited longest, so that urgent deliveries cannot hold others back for ever. */
const PLACES_AN_OLDEST = 4;
/** An attempt of one's own is found in the store under a time that differs by less than this. */
const OWN_WITHIN_MS = 50;
/** Due since ever, in Unix milliseconds. */
const AT_ONCE = 0;

/**
 * One endpoint's work in memory; nothing else writes its fields. States, by what it holds:
 *   idle       nothing due, nothing claimed                     → due, or forgotten
 *   due        `#dueAt` has come; waits for a claim             → claimed | idle
 *   claimed    has deliveries; sends while there is room       → claimed | due | idle
 *   doubtful   failed since the last claim: sends nothing until a claim says that it was not paused
 */
export class Lane implements Waiter {
  readonly endpointId: string;
  readonly throttle = createThrottle(DEFAULT_RATE_LIMIT_PER_MINUTE);
  /** Kept by the agenda. */
  readonly alarm: Alarm<Lane> = createAlarm<Lane>(this);
  #tenantId: string;
  /** What the endpoint's current version says; null before the first claim, and when it was paused or deleted. */
  #target: LaneTarget | null = null;
  /** When its next unclaimed delivery is due, Unix milliseconds; Infinity: none known. */
  #dueAt = Number.POSITIVE_INFINITY;
  readonly #hand = createHand((id) => {
    this.#held.delete(id);
    this.#claimed--;
  });
  /** Deliveries that are being stored for it; see {@link reserve}. */
  #reserved = 0;
  /** Everything claimed whose outcome is not stored yet, in flight or not: id to number of the attempt. */
  readonly #held = new Map<string, number>();
  #inFlight = 0;
  /** Deliveries that came into its hand so far, but for those that it gave back. */
  #claimed = 0;
  #claiming = false;
  #probing = false;
  /** Whether the last attempt succeeded. Only then is more claimed than can be sent at once. */
  #healthy = false;
  /** Whether the last attempt had a reply of any kind. */
  #answers = false;
  /** False where the store is known to count no failure of it: a success then has nothing to reset. */
  #failing = true;
  /** Failures so far; those that the store has; those it had when the claim under way went out, and at the last. */
  #failures = 0;
  #storedFailures = 0;
  #askedFailures = 0;
  #confirmedFailures = 0;

  /** `target` is what was known of the endpoint when it last had a lane. */
  constructor(endpointId: string, tenantId: string, target: LaneTarget | null) {
    this.endpointId = endpointId;
    this.#tenantId = tenantId;
    this.#target = target;
    if (target !== null) this.throttle.setLimit(target.endpoint.settings.rate_limit_per_minute);
  }

  get tenantId(): string {
    return this.#tenantId;
  }

  get target(): LaneTarget | null {
    return this.#target;
  }

  /** True where the store may count failures that a success has to reset, or a success is news. */
  get isFailing(): boolean {
    return this.#failing;
  }

  get health(): Health {
    if (this.#answers) return 'proven';
    return this.#inFlight === 0 ? 'first' : 'further';
  }

  /** A probe of it is being claimed or sent: a second one would not know what the first holds. */
  get isProbing(): boolean {
    return this.#probing;
  }

  /** One at a time, in the order of events. */
  get #isOrdered(): boolean {
    return this.#target?.endpoint.ordered === true;
  }

  /** True while a failure may have paused the endpoint without us knowing: the store decides that at commit. */
  get #isDoubtful(): boolean {
    return this.#failures !== this.#confirmedFailures;
  }

  maySend(now: number, inFlightLimit: number): boolean {
    if (this.#hand.size === 0 || this.#target === null || this.#isDoubtful) return false;
    const limit = this.#isOrdered ? 1 : inFlightLimit;
    return this.#inFlight < limit && this.throttle.room(now) > 0;
  }

  /** True where a claim is worth its while: half of what was claimed ahead is used up, or it must be confirmed. */
  wantsClaim(now: number, wallNow: number): boolean {
    const due = this.#dueAt <= wallNow;
    if (this.#claiming) return false;
    // The endpoint's own limit and state come with the first claim, be it of nothing.
    if (this.#target === null) return due;
    if (this.#isDoubtful) return this.#failures === this.#storedFailures && (due || this.#hand.size > 0);
    return due && this.#hand.size <= AHEAD / 2 && this.demand(now) > 0;
  }

  /** How many more deliveries a claim should bring, within the throttle's room. */
  demand(now: number): number {
    const room = this.#isOrdered
      ? 1 - this.#inFlight
      : IN_FLIGHT_PER_ENDPOINT - this.#inFlight + (this.#healthy ? AHEAD : 0);
    const most = Math.max(1, Math.floor(MOST_BYTES / Math.max(this.#hand.bodyBytes, 1)));
    // Before the first claim the endpoint's own limit is not known: the throttle then has the default.
    return Math.max(0, Math.min(room, most, this.throttle.room(now)) - this.#hand.size - this.#reserved);
  }

  /** When time alone changes what it can do, monotonic; Infinity: never. */
  nextLookAt(now: number, wallNow: number): number {
    const waits = this.#dueAt > wallNow && !this.wantsClaim(now, wallNow);
    const dueAt = waits ? now + this.#dueAt - wallNow : Number.POSITIVE_INFINITY;
    const hasWork = this.#hand.size > 0 || this.#dueAt <= wallNow;
    if (hasWork && this.throttle.room(now) === 0) return Math.min(dueAt, this.throttle.nextRoomAt(now));
    if (hasWork || dueAt !== Number.POSITIVE_INFINITY || this.isForgettable(now)) return dueAt;
    return Math.max(now, this.throttle.emptyAt());
  }

  /** True where it has work that waits for nothing but its throttle. */
  isThrottled(now: number, wallNow: number): boolean {
    return (this.#hand.size > 0 || this.#dueAt <= wallNow) && this.throttle.room(now) === 0;
  }

  /** True where it holds nothing, so that a new lane would be the same. */
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

  /** due → claiming: what the store is asked for. Work that is stored from here on makes it due anew. */
  beginClaim(limit: number): LaneDemand {
    this.#claiming = true;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#askedFailures = this.#storedFailures;
    const { endpointId } = this;
    const oldest =
      Math.floor((this.#claimed + limit) / PLACES_AN_OLDEST) - Math.floor(this.#claimed / PLACES_AN_OLDEST);
    return { endpointId, limit, oldest, knownVersion: this.#knownVersion, held: this.held() };
  }

  /** claiming → claimed or idle. `target` is the endpoint's newer version; what was claimed by the older is dropped. */
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
   * It was another process's before: what that has sent counts, if this one has sent nothing itself meanwhile. Times are Unix
   * milliseconds, `offset` makes monotonic ones of them.
   */
  wasSentTo(starts: readonly number[], offset: number): void {
    const known = this.throttle.emptyAt() - WINDOW_MS;
    for (const startedAt of starts)
      if (startedAt + offset > known + OWN_WITHIN_MS) this.throttle.record(startedAt + offset);
  }

  /** claiming → due: the store did not answer. */
  claimFailed(dueAt: number): void {
    this.#claiming = false;
    this.workIsDue(dueAt);
  }

  /** True from the moment that a delivery is claimed or reserved until its outcome is stored. */
  holds(deliveryId: string): boolean {
    return this.#held.has(deliveryId);
  }

  /** How many of `count` deliveries about to be stored can be sent at once: none if others wait before them. */
  roomFor(count: number, now: number, wallNow: number): number {
    if (this.#target === null || this.#claiming || this.#isDoubtful || this.#dueAt <= wallNow) return 0;
    if (this.#isOrdered) return 0; // which is the first, the store knows
    return Math.min(count, this.demand(now));
  }

  /** Keeps room for these until {@link settle}; returns what their commit needs to know of the lane. */
  reserve(deliveryIds: readonly string[]): Taking['lanes'][number] {
    this.#reserved += deliveryIds.length;
    for (const id of deliveryIds) this.#held.set(id, 1);
    return { endpointId: this.endpointId, knownVersion: this.#knownVersion, deliveryIds: [...deliveryIds] };
  }

  /** reserved → claimed, for those that the commit gave to this process. */
  settle(deliveries: readonly ClaimedDelivery[], taken: ReadonlySet<string>, until: number): void {
    this.#reserved -= deliveries.length;
    for (const { id } of deliveries) this.#held.delete(id);
    this.#add({ deliveries: deliveries.filter(({ id }) => taken.has(id)), bodies: null }, until);
  }

  /** claimed → in flight: the next delivery, with its place in the throttle; null where none is left in time. */
  depart(now: number): ClaimedDelivery | null {
    if (this.#hand.expire(now)) this.workIsDue(AT_ONCE);
    const delivery = this.#hand.take();
    if (delivery === null) return null;
    this.throttle.take(now); // at the moment of sending: a claim may wait for its turn
    this.#inFlight++;
    return delivery;
  }

  beginProbe(): void {
    this.#probing = true;
  }

  /** As {@link depart}, of a paused endpoint's oldest delivery; false where the throttle has no room. */
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

  /** An attempt ended. The answer, all failures so far, is given back to {@link outcomeStored}. */
  landed(failed: boolean, answered: boolean): number {
    this.#healthy = !failed;
    this.#answers = answered;
    if (failed) {
      this.#failures++;
      this.#failing = true;
    }
    return this.#failures;
  }

  /** The store has forgotten the endpoint's failures; `failures` is what the lane had counted at the landing. */
  failuresReset(failures: number): void {
    if (this.#failures === failures) this.#failing = false;
  }

  /** in flight → idle, due or claimed: the outcome is stored, or there is none. */
  leave(deliveryId: string, failed: boolean): void {
    this.#inFlight--;
    this.#held.delete(deliveryId);
    if (failed) this.#storedFailures++;
  }

  /** The endpoint was changed: nothing more is sent by what was known of it. */
  dropCopy(dueAt: number): void {
    this.#hand.clear();
    this.#target = null;
    this.workIsDue(dueAt);
  }

  /** Gives back what is claimed and not sent; false where there is nothing. */
  giveBack(dueAt: number): boolean {
    if (this.#hand.size === 0) return false;
    this.#hand.clear();
    this.workIsDue(dueAt);
    return true;
  }

  /** What it holds, as a claim wants to know it. */
  held(): LaneDemand['held'] {
    return Array.from(this.#held, ([id, attempt]) => ({ id, attempt }));
  }

  #adopt(target: LaneTarget): void {
    if (this.#hand.size > 0) this.dropCopy(AT_ONCE);
    this.#target = target;
    const { settings, consecutiveFailures, alarm, tenantId } = target.endpoint;
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

/** What comes into a hand together. */
interface Dealt {
  deliveries: readonly ClaimedDelivery[];
  /** The memory of their bodies, if it is not shared; null: others may use it. */
  bodies: Uint8Array | null;
}

/** After `until` (monotonic) their lease is too short for another attempt. */
interface Batch extends Dealt {
  next: number;
  until: number;
}

/** Deliveries of one lane that are claimed and not sent yet, in the order in which they came. */
export interface Hand {
  readonly size: number;
  /** Bytes of the largest body of late: of the last claim, or half of what it was before. */
  readonly bodyBytes: number;
  add(dealt: Dealt, until: number): void;
  take(): ClaimedDelivery | null;
  /** Gives back those whose time is over; false where there were none. */
  expire(now: number): boolean;
  /** Gives all back. */
  clear(): void;
}

/** `giveBack` is called for each that was not sent: the next claim may return it, if it is still due. */
function createHand(giveBack: (deliveryId: string) => void): Hand {
  const batches = createFifo<Batch>();
  let size = 0;
  let bodyBytes = 0;

  function drop({ deliveries, next, bodies }: Batch): void {
    for (const { id } of deliveries.slice(next)) giveBack(id);
    size -= deliveries.length - next;
    // The garbage collector is late with them: they have waited longer than most, outside of the heap that it counts.
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
      bodyBytes = deliveries.reduce((most, { start, end }) => Math.max(most, end - start), bodyBytes / 2);
    },
    take() {
      for (let batch = batches.peek(); batch !== undefined; batch = batches.peek()) {
        const delivery = batch.deliveries[batch.next];
        if (delivery !== undefined) {
          batch.next++;
          size--;
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
