import type { LeadChange } from '../lead-store.ts';
import type { NewSignal } from '../signal-store.ts';
import type { DoneCall } from './changes/audit.ts';
import type { StoredClaim } from './changes/claims.ts';
import type { KeptCall } from './changes/kept-steps.ts';

/** A change by its name, with its arguments. */
type AnyCall = readonly [name: string, args: readonly unknown[]];

/** Microseconds of the writer, on a slow machine. */
const OUTCOME_US = 30;
const CLAIM_US = 50;
const CLAIMED_US = 12;
const SIGNAL_US = 500;
const CHARACTER_US = 0.5;
const LEAD_US = 1_500;
const OTHER_US = 200;

/** Whose change it is: its tenant, else '' for what the process does on its own. Nothing but fairness hangs on it. */
export function ownerOf([, [first]]: AnyCall): string {
  const told: unknown = Array.isArray(first) ? first[0] : first;
  if (typeof told === 'string') return told.startsWith('ten_') ? told : '';
  return ownerWithin(told) || ownerWithin(memberOf(told, 'request'));
}

function ownerWithin(value: unknown): string {
  const owner = memberOf(value, 'tenantId');
  return typeof owner === 'string' ? owner : '';
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
}

/** About how long the writer takes for a change: others wait for it. */
export function costOf([name, args]: AnyCall): number {
  const [first] = args;
  switch (name) {
    case 'recordDelivered':
      return OUTCOME_US;
    case 'claimLanes':
      return claimCost(first as StoredClaim);
    case 'commitSignals':
    case 'commitSignalsHeld':
      return signalsCost(first as NewSignal[]);
    case 'commitLead':
      return LEAD_US + signalsCost((first as LeadChange).newSignals);
    case 'makeDone': {
      const done = first as DoneCall;
      return costOf([done.name, done.args]);
    }
    case 'makeKept': {
      const kept = first as KeptCall;
      return costOf([kept.name, kept.args]);
    }
    default:
      return OTHER_US;
  }
}

function claimCost({ lanes }: StoredClaim): number {
  return lanes.reduce((sum, { limit }) => sum + CLAIM_US + limit * CLAIMED_US, 0);
}

function signalsCost(signals: readonly NewSignal[]): number {
  return signals.reduce((sum, { text }) => sum + SIGNAL_US + text.length * CHARACTER_US, 0);
}
