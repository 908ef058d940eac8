import { z } from 'zod';
import { listFilters, queryTime, searchText } from './filters.ts';

/** The author of a change: the id of a user or a key, or a name of {@link OTHER_ACTORS}. */
export interface AuditActor {
  tenantId: string;
  actor: string;
  /** The client's network, as {@link networkOf} formats it; omitted if unknown. */
  client?: string;
}

/**
 * Actors without an id: the operator on the command line, anyone who follows the link in a digest mail, and
 * anyone not logged in.
 */
export const OTHER_ACTORS = { command: 'command line', mail: 'mail', stranger: 'not logged in' } as const;

/** Actions in the audit log, as `thing.done`. */
export const AUDIT_ACTIONS = [
  'campaign.create',
  'campaign.events',
  'campaign.update',
  'company.update',
  'deal.update',
  'delivery.replay',
  'key.create',
  'key.revoke',
  'key.update',
  'lead.create',
  'lead.erase',
  'lead.move',
  'lead.update',
  'mail.resend',
  'member.invite',
  'member.link',
  'member.remove',
  'member.role',
  'password.change',
  'plan.change',
  'profile.create',
  'profile.delete',
  'profile.update',
  'recovery_codes.create',
  'recovery_codes.use',
  'second_factor.off',
  'second_factor.on',
  'session.begin',
  'session.end',
  'session.locked',
  'session.refused',
  'settings.update',
  'signal.create',
  'signal.delete',
  'signal.feedback',
  'signal.triage',
  'signal.update',
  'source.create',
  'source.delete',
  'source.run',
  'source.update',
  'suggestion.decide',
  'suggestion.undo',
  'view.delete',
  'view.save',
  'webhook.create',
  'webhook.delete',
  'webhook.pause',
  'webhook.replay',
  'webhook.resume',
  'webhook.secret',
  'webhook.test',
  'webhook.update',
] as const;
export type AuditAction = (typeof AUDIT_ACTIONS)[number];

/** The filters of the audit list. */
export const auditFilters = listFilters(
  {
    actor: searchText(100),
    action: z.enum(AUDIT_ACTIONS).nullable().default(null),
    from: queryTime,
    to: queryTime,
  },
  (query) => query,
);

/** A change and its actor. It contains only IDs: personal data is stored where it can be erased. */
export interface AuditEntry {
  /** Unix milliseconds; for grouped changes, the time of the first. */
  at: number;
  actor: string;
  action: AuditAction;
  /** Id of the changed object; for grouped changes, of the first one. */
  subject: string;
  /** Number of changes in this entry: bulk changes are grouped by actor and hour. */
  count: number;
  /** The network of a log-in or a change of credentials; empty for all other changes. */
  client: string;
}
