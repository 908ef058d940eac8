import type { RoutedEvent } from '../model/event.ts';
import type { NewCampaignEvent } from './campaign-store.ts';
import type { StoredClaim } from './changes/claims.ts';
import { countDeliveries, ENDPOINTS_OF_A_REMAINDER } from './changes/event-bundles.ts';
import type { DoneCall, KeptCall } from './changes/requests.ts';
import type { ShiftPart } from './delivery-store.ts';
import type { BackfillStep, NoticeChange } from './event-store.ts';
import type { LeadChange } from './lead-store.ts';
import type { AnyChange } from './script.ts';
import { MAX_REMOVED_AT_ONCE, searchedLength } from './search-cost.ts';
import type { NewSignal, SignalEdit } from './signal-store.ts';
import type { SourceRun } from './source-store.ts';

/**
 * Microseconds of the writer, on a slow machine, with two thousand endpoints: each delivery changes a page of its own in two indexes,
 * and each outcome in one. With fifty endpoints, they take half as long.
 */
const OUTCOME_US = 40;
const CLAIM_US = 35;
const CLAIMED_US = 6;
const SIGNAL_US = 500;
const DELIVERY_US = 45;
/** An endpoint that gets an event later, in one message with others. */
const BATCHED_US = 10;
const CHARACTER_US = 0.5;
/** The words that leave the index are removed one by one. */
const REMOVED_CHARACTER_US = 10;
const LEAD_US = 1_500;
/** A stored signal with a post of 14,000 characters that is attached to a lead. */
const ATTACHED_US = 300;
const CAMPAIGN_EVENT_US = 50;
/** A delivery that is made due or discarded. */
const MOVED_US = 10;
/** The most that the deletion of an endpoint discards at once. */
const DISCARDED = 1_000;
const OTHER_US = 200;
const ERASURE_US = 15_000;

/** Owners other than tenants: log-ins, probes and housekeeping; claims and outcomes. */
const PROCESS = '';
const DISPATCHER = 'dispatcher';

/**
 * Their share of each commit before tenants take turns. The dispatcher's demand follows from accepted posts: a post to a hundred
 * endpoints costs 2.5 ms, its claims and outcomes 4.5 ms.
 */
const SHARES = new Map([
  [PROCESS, 0.1],
  [DISPATCHER, 0.65],
]);

export const shareOf = (owner: string): number => SHARES.get(owner) ?? 0;

/** The owner for fairness at the writer: the tenant, the dispatcher, or the process itself. Used for scheduling only. */
export function ownerOf(call: AnyChange): string {
  switch (call[0]) {
    case 'recordDelivered':
    case 'recordAttempt':
    case 'claimLanes':
    case 'claimOldest':
      return DISPATCHER;
    default:
      return ownerIn(call);
  }
}

function ownerIn([name, args]: AnyChange): string {
  const [first] = args;
  const told: unknown = runSignals(name, args)?.[0] ?? (Array.isArray(first) ? first[0] : first);
  if (typeof told === 'string') return told.startsWith('ten_') ? told : PROCESS;
  return ownerWithin(told) || ownerWithin(memberOf(told, 'request')) || ownerWithin(memberOf(told, 'signal'));
}

/** The signals of a source run, if the change stores any. */
function runSignals(name: string, args: readonly unknown[]): NewSignal[] | undefined {
  if (name === 'addRunSignals') return args[1] as NewSignal[];
  return name === 'finishSourceRun' ? (args[0] as SourceRun).signals : undefined;
}

function ownerWithin(value: unknown): string {
  const owner = memberOf(value, 'tenantId');
  return typeof owner === 'string' ? owner : '';
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** The change itself, unwrapped from a request with an idempotency key or from an audited change. */
export function changeIn(call: AnyChange): AnyChange {
  if (call[0] !== 'makeDone' && call[0] !== 'makeKept') return call;
  const inner = call[1][0] as DoneCall | KeptCall;
  return [inner.name, inner.args];
}

/** Estimated writer time of a change, during which others wait. */
export function costOf(call: AnyChange): number {
  const [name, args] = changeIn(call);
  const [first] = args;
  switch (name) {
    case 'recordDelivered':
    case 'recordAttempt':
      return OUTCOME_US;
    case 'claimLanes':
      return claimCost(first as StoredClaim);
    case 'commitSignals':
    case 'commitSignalsHeld':
      return signalsCost(first as NewSignal[]);
    case 'addRunSignals':
    case 'finishSourceRun':
      return OTHER_US + signalsCost(runSignals(name, args) ?? []);
    case 'editSignals':
      return editsCost(first as SignalEdit[]);
    case 'leaveSearch':
    case 'restoreSearch':
      return MAX_REMOVED_AT_ONCE * REMOVED_CHARACTER_US;
    case 'commitLead': {
      const { newSignals, attach, events } = first as LeadChange;
      return LEAD_US + attach.length * ATTACHED_US + signalsCost(newSignals) + eventsCost(events);
    }
    case 'storeRemainder':
      return OTHER_US + ENDPOINTS_OF_A_REMAINDER * (DELIVERY_US + MOVED_US);
    case 'commitNotices':
      return OTHER_US + eventsCost((first as NoticeChange).events);
    case 'createCampaign':
      return OTHER_US + eventsCost(args[1] as RoutedEvent[]);
    case 'updateCampaign':
      return OTHER_US + eventsCost(args[2] as RoutedEvent[]);
    case 'recordCampaignEvents':
      return (args[1] as NewCampaignEvent[]).reduce(
        (sum, { events }) => sum + CAMPAIGN_EVENT_US + eventsCost(events),
        OTHER_US,
      );
    case 'commitBackfill':
      return OTHER_US + (first as BackfillStep).items.length * 2 * DELIVERY_US;
    case 'resumeEndpoint':
    case 'replayRange':
      return OTHER_US + (first as { limit: number }).limit * MOVED_US;
    case 'replayList':
      return OTHER_US + (first as { ids: string[] }).ids.length * DELIVERY_US;
    case 'shiftDue':
      return OTHER_US + (first as ShiftPart).limit * DELIVERY_US;
    case 'deleteEndpoint':
      return OTHER_US + DISCARDED * MOVED_US;
    case 'continueErasure':
      return ERASURE_US;
    default:
      return OTHER_US;
  }
}

function claimCost({ lanes }: StoredClaim): number {
  return lanes.reduce((sum, { limit }) => sum + CLAIM_US + limit * CLAIMED_US, 0);
}

function signalsCost(signals: readonly NewSignal[]): number {
  return signals.reduce(
    (sum, signal) => sum + SIGNAL_US + searchedLength(signal) * CHARACTER_US + eventsCost(signal.events),
    0,
  );
}

function editsCost(edits: readonly SignalEdit[]): number {
  return edits.reduce(
    (sum, { replacedLength }) => sum + Math.min(replacedLength, MAX_REMOVED_AT_ONCE) * REMOVED_CHARACTER_US,
    signalsCost(edits.map(({ signal }) => signal)),
  );
}

function eventsCost(events: readonly RoutedEvent[]): number {
  return events.reduce(
    (sum, routed) => sum + countDeliveries(routed) * DELIVERY_US + routed.batched.length * BATCHED_US,
    0,
  );
}
