import type { NewMail } from '../model/mail.ts';
import type { Role, User } from '../model/tenant.ts';

/** Who belongs to a tenant, and what they may do. */
export interface TeamStore {
  /** Everybody of the tenant, who was there first first. */
  listMembers(tenantId: string): Promise<User[]>;
  getMember(tenantId: string, id: string): Promise<User | null>;
  /** Adds a person with a one-time link and the mail that holds it; `limit` people at most, and each address once, in whatever case. */
  addMember(
    member: { user: User; link: { tokenHash: string; expiresAt: number }; mail: NewMail },
    limit: number,
  ): Promise<'added' | 'known' | 'full'>;
  /** `last_owner`: no other owner has a password, and the tenant would be nobody's. */
  changeRole(
    tenantId: string,
    id: string,
    role: Role,
  ): Promise<'changed' | 'same' | 'last_owner' | 'missing'>;
  /** Removes a person with all sessions, and whatever they signed in with. */
  removeMember(tenantId: string, id: string): Promise<'removed' | 'last_owner' | 'missing'>;
}
