import type { AuditAction, AuditActor, AuditEntry } from '../model/audit.ts';
import type { Page, PageRequest } from '../model/filters.ts';
import type { IcpProfile } from '../model/icp.ts';
import type { ApiKey } from '../model/key.ts';
import type { NewMail } from '../model/mail.ts';
import type { Owner, Plan, Role, Session, Tenant, User } from '../model/tenant.ts';

/** Numbers of rows that a plan limits. */
export interface StoredRows {
  signals: number;
  leads: number;
  campaignEvents: number;
}

/** Tenants, owners and API keys. */
export interface AccountStore {
  createTenant(change: {
    tenant: Tenant;
    owner: Owner;
    profile: IcpProfile;
    /** The first key. */
    key: ApiKey;
  }): Promise<void>;
  /** Creates the first tenant, whose owner has a password and is signed in; false if a tenant already exists. */
  foundTenant(change: {
    tenant: Tenant;
    owner: Owner;
    profile: IcpProfile;
    passwordHash: string;
    session: Omit<Session, 'userId'>;
  }): Promise<boolean>;
  /** All tenants, for commands. */
  listTenants(): Promise<(Tenant & { ownerEmail: string })[]>;
  /** The next `limit` IDs of tenants after `after`, by ID. */
  tenantIdsAfter(after: string, limit: number): Promise<string[]>;
  getTenant(id: string): Promise<Tenant | null>;
  /** Exact, and reads only one row. */
  countStored(tenantId: string): Promise<StoredRows>;
  /** False if the tenant already has `limit` keys that are not revoked. Of more than {@link MOST_REVOKED_KEYS} revoked ones, the first are deleted. */
  createKey(key: ApiKey, limit: number): Promise<boolean>;
  listKeys(tenantId: string | null): Promise<ApiKey[]>;
  /** The key with its tenant, looked up by SHA-256; revoked and expired ones too. */
  findKey(hash: string): Promise<{ key: ApiKey; tenant: Tenant } | null>;
  /** Records the last use, at most once a minute per key. */
  touchKey(id: string, now: number): Promise<void>;
  /** False if there is no such key. Revoking a key again keeps the first time. */
  revokeKey(id: string, now: number): Promise<boolean>;
}

/** Changes to a key; omitted members stay as they are. */
export type KeyChange = Partial<Pick<ApiKey, 'name' | 'scopes' | 'rateLimit' | 'expiresAt'>>;

/** A tenant's keys as it manages them itself. */
export interface KeyStore {
  /** Oldest first, including revoked keys. */
  pageKeys(tenantId: string, page: PageRequest): Promise<Page<ApiKey>>;
  getKey(tenantId: string, id: string): Promise<ApiKey | null>;
  /** The changed key; null if there is none or it is revoked, which a change cannot undo. */
  changeKey(tenantId: string, id: string, change: KeyChange): Promise<ApiKey | null>;
  /** Deletes up to `limit` keys revoked before `before` (Unix milliseconds); returns their number. */
  pruneKeys(before: number, limit: number): Promise<number>;
}

/** Limits of a plan for a tenant's endpoints. `endpoints` null: no limit. */
export interface PlanTerms {
  endpoints: number | null;
  maxRatePerMinute: number;
  now: number;
}

/** Ids of the endpoints that a plan change paused and resumed. */
export interface PlanFit {
  paused: string[];
  resumed: string[];
}

/** Plans. A change also pauses or resumes the tenant's endpoints, in the same commit. */
export interface PlanStore {
  /** Null if there is no such tenant. */
  setPlan(
    tenantId: string,
    change: { plan: Plan; trialEndsAt: number | null; terms: PlanTerms },
  ): Promise<PlanFit | null>;
  /** Moves a tenant whose trial ended by `terms.now` to `plan`; null if it did not end, or the plan has changed since. */
  endTrial(tenantId: string, plan: Plan, terms: PlanTerms): Promise<PlanFit | null>;
  /** Tenants whose trial ended by `now`. */
  listEndedTrials(now: number, limit: number): Promise<string[]>;
}

/** A valid session, with its user and tenant. */
export interface OpenSession {
  session: Session;
  user: User;
  tenant: Tenant;
}

/** Maximum number of revoked keys that a tenant's list still has, besides those revoked since its newest key was created. */
export const MOST_REVOKED_KEYS = 500;

/** Maximum number of simultaneous sessions per user. */
export const MOST_SESSIONS = 20;

/** Passwords, one-time links and sessions of users. */
export interface SessionStore {
  /** All users with this email address, case-insensitive; at most `limit`, oldest first. */
  usersByEmail(email: string, limit: number): Promise<User[]>;
  /** The tenant's oldest owner. */
  firstOwner(tenantId: string): Promise<User | null>;
  /** The user of a one-time link that is valid at `now`. */
  userOfLink(tokenHash: string, now: number): Promise<User | null>;
  /**
   * Gives a user a new one-time link, with the mail that contains it, if any. The previous link becomes invalid. False if
   * there is no such user.
   */
  setLink(userId: string, link: { tokenHash: string; expiresAt: number }, mail?: NewMail): Promise<boolean>;
  /**
   * Sets the password of the link's user, uses up the link, ends all earlier sessions and starts `session`, if given. Null
   * if the link is no longer valid: then nothing changes, and no mail is written.
   */
  setPasswordByLink(change: {
    linkHash: string;
    passwordHash: string;
    session: Omit<Session, 'userId'> | null;
    now: number;
    /** Notifies the user; omitted if there was no password before. */
    mail?: NewMail | undefined;
  }): Promise<User | null>;
  /** Whether any user has a password. */
  anyPassword(): Promise<boolean>;
  /** Starts a session; beyond {@link MOST_SESSIONS} of the user, the oldest ones end. */
  createSession(session: Session): Promise<void>;
  /** Only records in the audit log that a log-in was refused or blocked. */
  noteRefusal(refusal: { userId: string; isLocked: boolean }): Promise<void>;
  /** Null if there is none, or it has expired by `now`. */
  findSession(tokenHash: string, now: number): Promise<OpenSession | null>;
  touchSession(tokenHash: string, use: { seenAt: number; expiresAt: number }): Promise<void>;
  /** False if there was none. */
  endSession(tokenHash: string): Promise<boolean>;
  /** The user's sessions that are valid at `now`, most recently used first. */
  listSessions(userId: string, now: number): Promise<Session[]>;
  /** Ends a session of the user by its id; null: all except `keep`. False if there was none to end. */
  endSessionOf(userId: string, id: string | null, keep: string): Promise<boolean>;
  /** Sets the user's password and ends all sessions except `keep`; false if there is no such user. */
  changePassword(change: {
    userId: string;
    passwordHash: string;
    keep: string;
    mail?: NewMail | undefined;
  }): Promise<boolean>;
  /** Deletes up to `limit` sessions that expired before; returns their number. */
  pruneSessions(before: number, limit: number): Promise<number>;
}

/** Members of a tenant, and their roles. */
export interface TeamStore {
  /** All members of the tenant, oldest first. */
  listMembers(tenantId: string): Promise<User[]>;
  getMember(tenantId: string, id: string): Promise<User | null>;
  /** Adds a user with a one-time link and the mail that contains it; `limit` users at most, each address once, case-insensitive. */
  addMember(
    member: { user: User; link: { tokenHash: string; expiresAt: number }; mail: NewMail },
    limit: number,
  ): Promise<'added' | 'known' | 'full'>;
  /** `last_owner`: no other owner has a password, so the tenant would be left without one. */
  changeRole(
    tenantId: string,
    id: string,
    role: Role,
  ): Promise<'changed' | 'same' | 'last_owner' | 'missing'>;
  /** Removes a user with all sessions and credentials. */
  removeMember(tenantId: string, id: string): Promise<'removed' | 'last_owner' | 'missing'>;
}

/** A user's second factor. `box` is the secret, encrypted with the master key. */
export interface SecondFactor {
  box: Uint8Array;
  /** When it was confirmed, Unix milliseconds; null: not yet. */
  since: number | null;
  /** The time step of the last accepted code. */
  step: number;
  /** Number of unused recovery codes. */
  codesLeft: number;
}

/** Second factors and their recovery codes, of which SHA-256 hashes are stored. */
export interface FactorStore {
  getFactor(userId: string): Promise<SecondFactor | null>;
  /** Stores a secret to be confirmed with a code, in place of an unconfirmed one; false if one is already confirmed. */
  offerFactor(userId: string, box: Uint8Array): Promise<boolean>;
  /**
   * Confirms the offered factor, with its first code used, stores recovery codes, and ends all sessions except `keep`. False
   * if there is none, or it is already confirmed.
   */
  confirmFactor(change: {
    userId: string;
    step: number;
    now: number;
    codeHashes: string[];
    keep: string;
    mail?: NewMail | undefined;
  }): Promise<boolean>;
  /** Uses the code of a time step; false if this step or a later one was used before. */
  spendStep(userId: string, step: number): Promise<boolean>;
  /** False if there is no such code, or it was used. */
  spendRecoveryCode(userId: string, codeHash: string): Promise<boolean>;
  /** Replaces the unused recovery codes; false if no second factor is confirmed. */
  setRecoveryCodes(userId: string, codeHashes: string[], mail?: NewMail): Promise<boolean>;
  /** Removes the second factor with its codes; false if there was none. */
  dropFactor(userId: string, mail?: NewMail): Promise<boolean>;
}

/** Filters and position of a page of the audit log, newest first. `from` <= at < `to`. */
export interface AuditQuery extends PageRequest {
  actor: string | null;
  action: AuditAction | null;
  from: number | null;
  to: number | null;
}

/** The audit log. */
export interface AuditStore {
  /**
   * Runs `work`. Its changes, including those after an `await`, are recorded in the audit log under this actor, in the commit
   * of the change. Null: not recorded.
   */
  as<T>(actor: AuditActor | null, work: () => T): T;
  pageAudit(tenantId: string, query: AuditQuery): Promise<Page<AuditEntry>>;
  /** Deletes up to `limit` entries from before, oldest first; returns their number. */
  pruneAudit(before: number, limit: number): Promise<number>;
}
