import type { AuditAction, AuditActor, AuditEntry } from '../model/audit.ts';
import type { Page, PageRequest } from '../model/filters.ts';
import type { IcpProfile } from '../model/icp.ts';
import type { ApiKey } from '../model/key.ts';
import type { NewMail } from '../model/mail.ts';
import type { Owner, Plan, Role, Session, Tenant, User } from '../model/tenant.ts';

/** Rows of a tenant that a plan has a ceiling on, and how many there are. */
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
    /** Its first. */
    key: ApiKey;
  }): Promise<void>;
  /** Makes the first tenant, whose owner has a password and is signed in; false where there is a tenant already. */
  foundTenant(change: {
    tenant: Tenant;
    owner: Owner;
    profile: IcpProfile;
    passwordHash: string;
    session: Omit<Session, 'userId'>;
  }): Promise<boolean>;
  listTenants(): Promise<(Tenant & { ownerEmail: string })[]>;
  getTenant(id: string): Promise<Tenant | null>;
  /** Exact, and at the cost of reading one row. */
  countStored(tenantId: string): Promise<StoredRows>;
  /** `limit` keys at most that are not revoked; false where the tenant has that many already. */
  createKey(key: ApiKey, limit: number): Promise<boolean>;
  listKeys(tenantId: string | null): Promise<ApiKey[]>;
  /** The key with its tenant, looked up by SHA-256; revoked and expired ones too. */
  findKey(hash: string): Promise<{ key: ApiKey; tenant: Tenant } | null>;
  /** Last use, to the minute: written at most once a minute a key. */
  touchKey(id: string, now: number): Promise<void>;
  /** False where there is no such key. Revoking twice keeps the first time. */
  revokeKey(id: string, now: number): Promise<boolean>;
}

/** What of a key can be changed; what is left out stays as it is. */
export type KeyChange = Partial<Pick<ApiKey, 'name' | 'scopes' | 'rateLimit' | 'expiresAt'>>;

/** A tenant's keys as it manages them itself. */
export interface KeyStore {
  /** Oldest first, revoked ones too. */
  pageKeys(tenantId: string, page: PageRequest): Promise<Page<ApiKey>>;
  getKey(tenantId: string, id: string): Promise<ApiKey | null>;
  /** The key as it then is; null where there is none, or where it is revoked: that is not undone by a change. */
  changeKey(tenantId: string, id: string, change: KeyChange): Promise<ApiKey | null>;
  /** Removes keys that were revoked before `before` (Unix milliseconds), `limit` at most; how many. */
  pruneKeys(before: number, limit: number): Promise<number>;
}

/** What a plan leaves of a tenant's endpoints. `endpoints` null: no limit. */
export interface PlanTerms {
  endpoints: number | null;
  maxRatePerMinute: number;
  now: number;
}

/** Ids of the endpoints that a plan paused and resumed. */
export interface PlanFit {
  paused: string[];
  resumed: string[];
}

/** Plans, and what a change of them does to a tenant's endpoints, in the same commit. */
export interface PlanStore {
  /** Null where there is no such tenant. */
  setPlan(
    tenantId: string,
    change: { plan: Plan; trialEndsAt: number | null; terms: PlanTerms },
  ): Promise<PlanFit | null>;
  /** Puts a tenant whose trial ran out by `terms.now` on `plan`; null where it did not, or is on another plan by now. */
  endTrial(tenantId: string, plan: Plan, terms: PlanTerms): Promise<PlanFit | null>;
  /** Tenants whose trial ran out by `now`. */
  listEndedTrials(now: number, limit: number): Promise<string[]>;
}

/** A session that is in force, whose it is, and of which tenant. */
export interface OpenSession {
  session: Session;
  user: User;
  tenant: Tenant;
}

/** Sessions that a person may have at a time. */
export const MOST_SESSIONS = 20;

/** People who sign in: their passwords, one-time links and sessions. */
export interface SessionStore {
  /** All users with this email address, case-insensitive; at most `limit`, oldest first. */
  usersByEmail(email: string, limit: number): Promise<User[]>;
  /** The tenant's oldest owner. */
  firstOwner(tenantId: string): Promise<User | null>;
  /** Whose one-time link this is, where it is still good at `now`. */
  userOfLink(tokenHash: string, now: number): Promise<User | null>;
  /**
   * Gives a user a new one-time link, with the mail that holds it, if any; the one before counts no more. False where there
   * is no such user.
   */
  setLink(userId: string, link: { tokenHash: string; expiresAt: number }, mail?: NewMail): Promise<boolean>;
  /**
   * Sets the password of the link's user, uses the link up, ends all earlier sessions and begins `session`,
   * where there is one; null where the link is not good any more, and then nothing changes, nor is the mail written.
   */
  setPasswordByLink(change: {
    linkHash: string;
    passwordHash: string;
    session: Omit<Session, 'userId'> | null;
    now: number;
    /** What tells the person of it; left out where there was no password before. */
    mail?: NewMail | undefined;
  }): Promise<User | null>;
  /** Whether anybody has a password yet. */
  anyPassword(): Promise<boolean>;
  /** Begins a session; of more than {@link MOST_SESSIONS} of a person the oldest end. */
  createSession(session: Session): Promise<void>;
  /** Only records in the audit log that a log-in was refused or blocked. */
  noteRefusal(refusal: { userId: string; isLocked: boolean }): Promise<void>;
  /** Null where there is none, or where it has expired by `now`. */
  findSession(tokenHash: string, now: number): Promise<OpenSession | null>;
  touchSession(tokenHash: string, use: { seenAt: number; expiresAt: number }): Promise<void>;
  /** False where there was none. */
  endSession(tokenHash: string): Promise<boolean>;
  /** Sessions of a person that are in force at `now`, the last used first. */
  listSessions(userId: string, now: number): Promise<Session[]>;
  /** Ends a session of a person by its id; null: all but the one of `keep`. False where there was none to end. */
  endSessionOf(userId: string, id: string | null, keep: string): Promise<boolean>;
  /** Sets a person's password and ends all sessions but the one of `keep`; false where there is no such person. */
  changePassword(change: {
    userId: string;
    passwordHash: string;
    keep: string;
    mail?: NewMail | undefined;
  }): Promise<boolean>;
  /** Removes sessions that expired before; how many. */
  pruneSessions(before: number, limit: number): Promise<number>;
}

/** Who belongs to a tenant, and what they may do. */
export interface TeamStore {
  /** All members of the tenant, oldest first. */
  listMembers(tenantId: string): Promise<User[]>;
  getMember(tenantId: string, id: string): Promise<User | null>;
  /** Adds a person with a one-time link and the mail that holds it; `limit` people at most, and each address once, in whatever case. */
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
  /** Removes a person with all sessions, and whatever they signed in with. */
  removeMember(tenantId: string, id: string): Promise<'removed' | 'last_owner' | 'missing'>;
}

/** A person's second factor. `box` is the secret under the master key. */
export interface Factor {
  box: Uint8Array;
  /** Since when it is in force, Unix milliseconds; null: its first code was not seen yet. */
  since: number | null;
  /** The time step of the last code that was taken. */
  step: number;
  /** Recovery codes that are left. */
  codesLeft: number;
}

/** Second factors and their recovery codes, which are known by their SHA-256. */
export interface FactorStore {
  getFactor(userId: string): Promise<Factor | null>;
  /** Keeps a secret that is to be confirmed by a code, in place of one that was not; false where one is in force. */
  offerFactor(userId: string, box: Uint8Array): Promise<boolean>;
  /**
   * Puts the offered one in force, its first code used, with recovery codes, and ends all sessions but the one of `keep`;
   * false where there is none, or it is already.
   */
  confirmFactor(change: {
    userId: string;
    step: number;
    now: number;
    codeHashes: string[];
    keep: string;
    mail?: NewMail | undefined;
  }): Promise<boolean>;
  /** Takes the code of a time step; false where one of that step or a later one was taken before. */
  spendStep(userId: string, step: number): Promise<boolean>;
  /** False where there is no such code: it was used, or never was. */
  spendRecoveryCode(userId: string, codeHash: string): Promise<boolean>;
  /** New recovery codes in place of those that were left; false where no second factor is in force. */
  setRecoveryCodes(userId: string, codeHashes: string[], mail?: NewMail): Promise<boolean>;
  /** Takes the second factor away, with its codes; false where none was in force. */
  dropFactor(userId: string, mail?: NewMail): Promise<boolean>;
}

/** Filters and position of a page of the audit list, newest first. `from` <= at < `to`. */
export interface AuditQuery extends PageRequest {
  actor: string | null;
  action: AuditAction | null;
  from: number | null;
  to: number | null;
}

/** Who changed what. */
export interface AuditStore {
  /**
   * Runs `work`. What is changed in it, and in what it awaits, stands in the audit list as the actor's doing, written in the
   * commit of the change. Null: nobody's.
   */
  as<T>(actor: AuditActor | null, work: () => T): T;
  pageAudit(tenantId: string, query: AuditQuery): Promise<Page<AuditEntry>>;
  /** Removes what was done before, oldest first; how many. */
  pruneAudit(before: number, limit: number): Promise<number>;
}
