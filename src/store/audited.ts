import type { AuditAction } from '../model/audit.ts';
import type { Store } from './store.ts';

/** The entry of a change in the audit log. */
export interface AuditedAction {
  action: AuditAction;
  subject: string;
  /** The number of such changes. Default: 1. */
  count?: number;
  /**
   * Acts of one actor and hour with the same mark are combined in one entry with a count; omitted: an entry of its
   * own.
   */
  gatheredBy?: string;
}

/** The client's network is recorded for log-ins and credentials only, for privacy. */
const WITH_CLIENT = /^(?:session|password|second_factor|recovery_codes)\./;

/** Whether the audit log records the client's network for an action. */
export function keepsClient(action: AuditAction): boolean {
  return WITH_CLIENT.test(action);
}

type Acts = {
  [K in keyof Store]?: Store[K] extends (...args: infer A) => Promise<infer R>
    ? (args: A, result: R) => AuditedAction | null
    : never;
};

/**
 * The changes that a user or a key can make, with their audit-log actions; null if nothing changed. Changes that the
 * process makes on its own (deliveries, detection, retention) are excluded: even if a request triggers them, they
 * must be changes with other names. So are updates that are not changes (last use of a key).
 */
const ACTS: Acts = {
  createKey: ([key], made) => (made ? { action: 'key.create', subject: key.id } : null),
  changeKey: (_, key) => (key === null ? null : { action: 'key.update', subject: key.id }),
  revokeKey: ([id], revoked) => (revoked ? { action: 'key.revoke', subject: id } : null),
  setPlan: ([tenantId], fit) => (fit === null ? null : { action: 'plan.change', subject: tenantId }),
  setDigestReader: ([, userId], set) => (set ? { action: 'settings.update', subject: userId } : null),
  saveSettings: ([{ tenantId }], saved) => (saved ? { action: 'settings.update', subject: tenantId } : null),

  foundTenant: ([{ owner }], made) => (made ? { action: 'password.change', subject: owner.id } : null),
  addMember: ([{ user }], outcome) =>
    outcome === 'added' ? { action: 'member.invite', subject: user.id } : null,
  changeRole: ([, id], outcome) => (outcome === 'changed' ? { action: 'member.role', subject: id } : null),
  removeMember: ([, id], outcome) =>
    outcome === 'removed' ? { action: 'member.remove', subject: id } : null,
  setLink: ([userId], set) => (set ? { action: 'member.link', subject: userId } : null),
  setPasswordByLink: (_, user) => (user === null ? null : { action: 'password.change', subject: user.id }),
  changePassword: ([{ userId }], changed) =>
    changed ? { action: 'password.change', subject: userId } : null,
  createSession: ([{ userId }]) => ({ action: 'session.begin', subject: userId }),
  noteRefusal: ([{ userId, isLocked }]) => ({
    action: isLocked ? 'session.locked' : 'session.refused',
    subject: userId,
    gatheredBy: userId,
  }),
  endSessionOf: ([userId], ended) => (ended ? { action: 'session.end', subject: userId } : null),
  confirmFactor: ([{ userId }], on) => (on ? { action: 'second_factor.on', subject: userId } : null),
  dropFactor: ([userId], off) => (off ? { action: 'second_factor.off', subject: userId } : null),
  setRecoveryCodes: ([userId], set) => (set ? { action: 'recovery_codes.create', subject: userId } : null),
  spendRecoveryCode: ([userId], spent) => (spent ? { action: 'recovery_codes.use', subject: userId } : null),

  resendMail: ([, id], found) => (found ? { action: 'mail.resend', subject: id } : null),

  createProfile: ([{ id }], outcome) =>
    outcome === 'created' ? { action: 'profile.create', subject: id } : null,
  changeProfile: ([{ id }], outcome) =>
    outcome === 'changed' ? { action: 'profile.update', subject: id } : null,
  deleteProfile: ([, id], outcome) =>
    outcome === 'deleted' ? { action: 'profile.delete', subject: id } : null,
  saveSuggestionDecision: ([{ profileId }], saved) =>
    saved ? { action: 'suggestion.decide', subject: profileId } : null,
  switchLesson: ([, profileId, isOn], done) =>
    done ? { action: isOn ? 'suggestion.decide' : 'suggestion.undo', subject: profileId } : null,
  removeSuggestionDecision: ([, profileId], removed) =>
    removed === null ? null : { action: 'suggestion.undo', subject: profileId },

  // Recorded when the job is accepted: what it stores later is not recorded.
  createJob: ([{ id, total }], made) =>
    made ? { action: 'signal.create', subject: id, count: total, gatheredBy: 'signals' } : null,
  commitSignals: (_, committed) => {
    const made = committed.filter(({ status }) => status === 'created');
    const [first] = made;
    if (first === undefined) return null;
    return { action: 'signal.create', subject: first.id, count: made.length, gatheredBy: 'signals' };
  },
  editSignals: (_, edited) => {
    const changed = edited.filter(({ isChanged }) => isChanged);
    const [first] = changed;
    return first === undefined
      ? null
      : { action: 'signal.update', subject: first.id, count: changed.length, gatheredBy: 'signal edits' };
  },
  removeSignalsOf: ([, platform], count) =>
    count === 0 ? null : { action: 'signal.delete', subject: platform, count },
  deleteSignal: ([, id], deleted) => (deleted ? { action: 'signal.delete', subject: id } : null),
  saveFeedback: ([{ signalId }], saved) => (saved ? { action: 'signal.feedback', subject: signalId } : null),
  triageSignals: ([, [first = '']], count) =>
    count === 0 ? null : { action: 'signal.triage', subject: first, count, gatheredBy: 'signal triage' },
  saveSignalView: ([{ id }]) => ({ action: 'view.save', subject: id }),
  deleteSignalView: ([, id], deleted) => (deleted ? { action: 'view.delete', subject: id } : null),
  saveReplyTemplate: ([tenantId]) => ({ action: 'settings.update', subject: tenantId }),
  commitLead: ([{ lead, expectedVersion, move, events }], done) => {
    if (!done) return null;
    if (expectedVersion === 0) return { action: 'lead.create', subject: lead.id };
    if (move !== null) return { action: 'lead.move', subject: lead.id };
    const isDeal = events.some(({ event }) => event.type === 'deal.changed');
    return { action: isDeal ? 'deal.update' : 'lead.update', subject: lead.id };
  },
  eraseLead: ([{ leadId }], erased) => (erased ? { action: 'lead.erase', subject: leadId } : null),
  saveCompany: ([company], saved) => (saved ? { action: 'company.update', subject: company.id } : null),

  createCampaign: ([{ id }]) => ({ action: 'campaign.create', subject: id }),
  updateCampaign: ([{ id }], done) => (done ? { action: 'campaign.update', subject: id } : null),
  recordCampaignEvents: ([{ id }], results) => {
    const count = results.filter((result) => result === 'created').length;
    return count === 0 ? null : { action: 'campaign.events', subject: id, count, gatheredBy: id };
  },

  createEndpoint: ([{ id }], outcome) =>
    outcome === 'created' ? { action: 'webhook.create', subject: id } : null,
  updateEndpoint: ([{ id }, , what], outcome) =>
    outcome === 'updated'
      ? { action: what === 'secret' ? 'webhook.secret' : 'webhook.update', subject: id }
      : null,
  pauseEndpoint: ([, id], paused) => (paused ? { action: 'webhook.pause', subject: id } : null),
  resumeEndpoint: ([{ id }], outcome) =>
    outcome === 'resumed' ? { action: 'webhook.resume', subject: id } : null,
  deleteEndpoint: ([, id], deleted) => (deleted ? { action: 'webhook.delete', subject: id } : null),
  recordTestSend: ([{ endpointId }]) => ({ action: 'webhook.test', subject: endpointId }),
  replayDelivery: ([, id], { outcome }) =>
    outcome === 'replayed' ? { action: 'delivery.replay', subject: id } : null,
  replayList: ([{ endpointId }], count) =>
    count === 0 ? null : { action: 'webhook.replay', subject: endpointId, count, gatheredBy: endpointId },
  replayRange: ([{ endpointId }], { replayed }) =>
    replayed === 0
      ? null
      : { action: 'webhook.replay', subject: endpointId, count: replayed, gatheredBy: endpointId },

  createSource: ([{ id }], outcome) =>
    outcome === 'created' ? { action: 'source.create', subject: id } : null,
  changeSource: ([{ id }], outcome) =>
    outcome === 'changed' ? { action: 'source.update', subject: id } : null,
  deleteSource: ([, id], deleted) => (deleted ? { action: 'source.delete', subject: id } : null),
  runSource: ([, id], asked) => (asked ? { action: 'source.run', subject: id } : null),
};

/** Whether changes with this name are recorded in the audit log. */
export function isAudited(name: string): boolean {
  return Object.hasOwn(ACTS, name);
}

/** The audit-log entry of a change, from its name, arguments and result; null: none. */
export function actOf(name: string, args: readonly unknown[], result: unknown): AuditedAction | null {
  const tell = ACTS[name as keyof Store] as
    | ((args: readonly unknown[], result: unknown) => AuditedAction | null)
    | undefined;
  return tell?.(args, result) ?? null;
}
