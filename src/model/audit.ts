import { z } from 'zod';
import { listFilters, queryTime, searchText } from './filters.ts';

/** Who changes something: the id of a person or of a key, or a name of {@link OTHER_ACTORS}. */
export interface AuditActor {
  tenantId: string;
  actor: string;
  /** The network it comes from, as {@link networkOf} writes it; left out where that is not known. */
  client?: string;
}

/** Actors without an id: the operator by a command, anybody with the link of a digest's mail, and anybody who is not logged in. */
export const OTHER_ACTORS = { command: 'command line', mail: 'mail', stranger: 'not logged in' } as const;

/** What can stand in the audit list, `thing.done`. */
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

/** A change and its actor. It has only IDs: personal data is stored where it can be erased. */
export interface AuditEntry {
  /** Unix milliseconds; of changes that are gathered, the first one's. */
  at: number;
  actor: string;
  action: AuditAction;
  /** Id of what was changed; of changes that are gathered, of the first. */
  subject: string;
  /** How many such changes it stands for: what comes in bulk is gathered for each actor and hour. */
  count: number;
  /** The network that a log-in or a change of credentials came from; empty for every other change. */
  client: string;
}
