import type { StoredClaim, StoredProbeClaim, StoredTaking } from '../changes/claims.ts';
import { changeIn, ownerOf } from '../weights.ts';

/** A change by its name, with its arguments. */
type AnyCall = readonly [name: string, args: readonly unknown[]];

/**
 * Changes each of whose statements decides by the rows that it changes or locks: what another node does meanwhile is found in
 * them. They are the frequent ones, and those that go through all tenants.
 */
const DECIDED_BY_ROWS = new Set([
  ...['recordDelivered', 'recordAttempt', 'releaseLeases', 'recordTestSend'],
  ...['touchKey', 'touchSession', 'endSession', 'endSessionOf', 'revokeKey', 'noteRefusal', 'setLink'],
  ...['spendStep', 'spendRecoveryCode', 'offerFactor'],
  ...['markMailSent', 'markMailFailed', 'markMailAnnounced', 'resendMail', 'setDigestReader'],
  ...['leaseSources', 'putOffSource', 'holdHost', 'replanSources', 'runSource', 'advanceJob', 'writeProbe'],
  ...[
    'pruneSessions',
    'pruneKeys',
    'pruneMail',
    'pruneJobs',
    'pruneAudit',
    'pruneAttempts',
    'pruneTestSends',
  ],
  ...['pruneNearKeys', 'pruneBodyTails', 'pruneEndpoints', 'listErasures'],
  // A node whose heartbeat waited for another's housekeeping would be taken for dead.
  ...['beat', 'leave'],
]);

/** Of what concerns no one tenant: one node at a time. */
const HOUSE = 'house';

/**
 * What a change must have to itself, on all nodes, from its start to its commit: it decides by rows that it only reads. On
 * SQLite writers take turns; here those of one tenant do.
 */
export function locksOf(call: AnyCall): string[] {
  const [name, args] = changeIn(call);
  const locks = new Set(ownLocksOf([name, args]));
  // What a keyed request has made is written beside it.
  if (call[0] === 'makeKept') locks.add(ownerOf(call));
  return [...locks];
}

function ownLocksOf([name, args]: AnyCall): string[] {
  if (DECIDED_BY_ROWS.has(name)) return [];
  const [first, second] = args;
  if (name === 'claimLanes') return (first as StoredClaim).lanes.map(({ endpointId }) => laneOf(endpointId));
  if (name === 'claimOldest') return [laneOf((first as StoredProbeClaim).endpointId)];
  const tenant = ownerOf([name, args]) || HOUSE;
  if (name !== 'commitSignalsHeld') return [tenant];
  return [tenant, ...Object.keys(JSON.parse((second as StoredTaking).lanes)).map(laneOf)];
}

/** An endpoint's lease: one node at a time takes it. */
function laneOf(endpointId: string): string {
  return `lane ${endpointId}`;
}
