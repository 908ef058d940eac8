import type { IcpProfile } from '../../model/icp.ts';
import type { ApiKey } from '../../model/key.ts';
import type { Owner, Plan, Session, Tenant, User } from '../../model/tenant.ts';
import { overPlanMail } from '../../rules/endpoints.ts';
import {
  type AccountStore,
  type FactorStore,
  type KeyStore,
  MOST_REVOKED_KEYS,
  MOST_SESSIONS,
  type PlanFit,
  type PlanStore,
  type PlanTerms,
  type SessionStore,
  type TeamStore,
} from '../account-store.ts';
import type { Asks, Script, Scripts } from '../script.ts';
import { createEndpointPlan, type EndpointStatements } from './endpoints.ts';
import { createMailWriter } from './mail.ts';
import { createProfileWriter, type ProfileStatements } from './profiles.ts';

export interface AccountStatements extends EndpointStatements, ProfileStatements {
  accounts: {
    insertSettings(id: string, createdAt: number): void;
    selectAnyTenant(): number | undefined;
    updatePlan(plan: string, trialEndsAt: number | null, tenantId: string): boolean;
    endTrial(plan: string, tenantId: string, now: number): boolean;
    insertTenant(tenant: Tenant): boolean;
    insertOwner(owner: Owner): boolean;
    insertKey(key: ApiKey): boolean;
    updateLink(tokenHash: string, expiresAt: number, userId: string): boolean;
    updatePassword(passwordHash: string, id: string): boolean;
    deleteSessions(id: string): void;
    deleteSession(tokenHash: string): boolean;
    deleteSessionById(userId: string, id: string): boolean;
    deleteOtherSessions(userId: string, keep: string): boolean;
    touchSession(seenAt: number, expiresAt: number, tokenHash: string): void;
    deleteExpiredSessions(before: number, limit: number): number;
    deleteSessionsBeyond(userId: string, sameUserId: string, kept: number): void;
    insertSession(session: Session): boolean;
    insertMember(row: Record<string, unknown>): void;
    selectAddress(tenantId: string, email: string): number | undefined;
    countMembers(tenantId: string): number | undefined;
    selectOtherOwner(tenantId: string, id: string): number | undefined;
    updateRole(role: string, id: string): void;
    deleteCodes(userId: string): void;
    deleteMember(id: string): void;
    offerFactor(box: Uint8Array, userId: string): boolean;
    confirmFactor(now: number, step: number, userId: string): boolean;
    spendStep(step: number, userId: string, above: number): boolean;
    dropFactor(userId: string): boolean;
    selectFactor(userId: string): number | undefined;
    insertCode(userId: string, hash: string): void;
    spendCode(userId: string, hash: string): boolean;
    getMember(tenantId: string, id: string): User | null;
    userOfLink(linkHash: string, now: number): User | null;
    countKeys(tenantId: string): number | undefined;
    deleteRevokedBeyond(tenantId: string, most: number): void;
    updateKey(key: Pick<ApiKey, 'id' | 'name' | 'scopes' | 'rateLimit' | 'expiresAt'>): void;
    touchKey(row: Record<string, unknown>): void;
    revokeKey(now: number, id: string): boolean;
    pruneKeys(before: number, limit: number): number;
    getKey(tenantId: string, id: string): ApiKey | null;
  };
}

/** Tenants with their owners, and their plans. */
export function tenantChanges(ask: Asks<AccountStatements>) {
  const insertProfile = createProfileWriter(ask);
  const fitEndpoints = createEndpointPlan(ask);
  const addMail = createMailWriter(ask);
  const { setPasswordByLink } = sessionChanges(ask);

  /** The owner is notified of endpoints that were paused without a request. */
  function* holdToPlan(tenantId: string, plan: Plan, terms: PlanTerms): Script<PlanFit> {
    const result = yield* fitEndpoints(tenantId, terms);
    const { paused } = result;
    const mail = overPlanMail({ tenantId, plan, limit: terms.endpoints, paused, now: terms.now });
    if (mail !== null) yield* addMail(mail);
    return result;
  }

  function* insertWhole(tenant: Tenant, owner: Owner, profile: IcpProfile): Script<void> {
    yield* ask.accounts.insertTenant(tenant);
    yield* ask.accounts.insertSettings(tenant.id, tenant.createdAt);
    yield* ask.accounts.insertOwner(owner);
    yield* insertProfile(profile);
  }

  return {
    *createTenant({ tenant, owner, profile, key }) {
      yield* insertWhole(tenant, owner, profile);
      yield* ask.accounts.insertKey(key);
    },
    *foundTenant({ tenant, owner, profile, passwordHash, session }) {
      if ((yield* ask.accounts.selectAnyTenant()) !== undefined) return false;
      yield* insertWhole(tenant, owner, profile);
      const { setupTokenHash: linkHash, createdAt: now } = owner;
      yield* setPasswordByLink({ linkHash, passwordHash, session, now });
      return true;
    },
    *setPlan(tenantId, { plan, trialEndsAt, terms }) {
      if (!(yield* ask.accounts.updatePlan(plan, trialEndsAt, tenantId))) return null;
      return yield* holdToPlan(tenantId, plan, terms);
    },
    *endTrial(tenantId, plan, terms) {
      if (!(yield* ask.accounts.endTrial(plan, tenantId, terms.now))) return null;
      return yield* holdToPlan(tenantId, plan, terms);
    },
  } satisfies Scripts<AccountStore & PlanStore>;
}

/** Passwords, one-time links and sessions. */
export function sessionChanges(ask: Asks<AccountStatements>) {
  const addMail = createMailWriter(ask);

  return {
    *setLink(userId, { tokenHash, expiresAt }, mail) {
      if (!(yield* ask.accounts.updateLink(tokenHash, expiresAt, userId))) return false;
      if (mail !== undefined) yield* addMail(mail);
      return true;
    },
    *setPasswordByLink({ linkHash, passwordHash, session, now, mail }) {
      const user = yield* ask.accounts.userOfLink(linkHash, now);
      if (user === null) return null;
      yield* ask.accounts.updatePassword(passwordHash, user.id);
      yield* ask.accounts.deleteSessions(user.id);
      if (session !== null) yield* ask.accounts.insertSession({ ...session, userId: user.id });
      if (mail !== undefined) yield* addMail(mail);
      return { ...user, passwordHash };
    },
    *createSession(session) {
      yield* ask.accounts.insertSession(session);
      yield* ask.accounts.deleteSessionsBeyond(session.userId, session.userId, MOST_SESSIONS);
    },
    *noteRefusal() {},
    touchSession: (tokenHash, { seenAt, expiresAt }) =>
      ask.accounts.touchSession(seenAt, expiresAt, tokenHash),
    endSession: (tokenHash) => ask.accounts.deleteSession(tokenHash),
    endSessionOf: (userId, id, keep) =>
      id === null
        ? ask.accounts.deleteOtherSessions(userId, keep)
        : ask.accounts.deleteSessionById(userId, id),
    *changePassword({ userId, passwordHash, keep, mail }) {
      if (!(yield* ask.accounts.updatePassword(passwordHash, userId))) return false;
      yield* ask.accounts.deleteOtherSessions(userId, keep);
      if (mail !== undefined) yield* addMail(mail);
      return true;
    },
    pruneSessions: (before, limit) => ask.accounts.deleteExpiredSessions(before, limit),
  } satisfies Scripts<SessionStore>;
}

/** The members of a tenant, and their second factors. */
export function teamChanges(ask: Asks<AccountStatements>) {
  const addMail = createMailWriter(ask);

  function* isLastOwner(tenantId: string, id: string): Script<boolean> {
    return (yield* ask.accounts.selectOtherOwner(tenantId, id)) === undefined;
  }

  function* replaceCodes(userId: string, hashes: readonly string[]): Script<void> {
    yield* ask.accounts.deleteCodes(userId);
    for (const hash of hashes) yield* ask.accounts.insertCode(userId, hash);
  }

  return {
    *addMember({ user: { id, tenantId, email, role, createdAt }, link, mail }, limit) {
      if ((yield* ask.accounts.selectAddress(tenantId, email)) !== undefined) return 'known';
      if (((yield* ask.accounts.countMembers(tenantId)) ?? 0) >= limit) return 'full';
      yield* ask.accounts.insertMember({ id, tenantId, email, role, createdAt, ...link });
      yield* addMail(mail);
      return 'added';
    },
    *changeRole(tenantId, id, role) {
      const member = yield* ask.accounts.getMember(tenantId, id);
      if (member === null) return 'missing';
      if (member.role === role) return 'same';
      if (member.role === 'owner' && (yield* isLastOwner(tenantId, id))) return 'last_owner';
      yield* ask.accounts.updateRole(role, id);
      return 'changed';
    },
    *removeMember(tenantId, id) {
      const member = yield* ask.accounts.getMember(tenantId, id);
      if (member === null) return 'missing';
      if (member.role === 'owner' && (yield* isLastOwner(tenantId, id))) return 'last_owner';
      yield* ask.accounts.deleteSessions(id);
      yield* ask.accounts.deleteCodes(id);
      yield* ask.accounts.deleteMember(id);
      return 'removed';
    },
    offerFactor: (userId, box) => ask.accounts.offerFactor(box, userId),
    *confirmFactor({ userId, step, now, codeHashes, keep, mail }) {
      if (!(yield* ask.accounts.confirmFactor(now, step, userId))) return false;
      yield* replaceCodes(userId, codeHashes);
      yield* ask.accounts.deleteOtherSessions(userId, keep);
      if (mail !== undefined) yield* addMail(mail);
      return true;
    },
    spendStep: (userId, step) => ask.accounts.spendStep(step, userId, step),
    spendRecoveryCode: (userId, hash) => ask.accounts.spendCode(userId, hash),
    *setRecoveryCodes(userId, hashes, mail) {
      if ((yield* ask.accounts.selectFactor(userId)) === undefined) return false;
      yield* replaceCodes(userId, hashes);
      if (mail !== undefined) yield* addMail(mail);
      return true;
    },
    *dropFactor(userId, mail) {
      if (!(yield* ask.accounts.dropFactor(userId))) return false;
      yield* ask.accounts.deleteCodes(userId);
      if (mail !== undefined) yield* addMail(mail);
      return true;
    },
  } satisfies Scripts<TeamStore & FactorStore>;
}

export function keyChanges(ask: Asks<AccountStatements>) {
  return {
    *createKey(key, limit) {
      if (((yield* ask.accounts.countKeys(key.tenantId)) ?? 0) >= limit) return false;
      yield* ask.accounts.deleteRevokedBeyond(key.tenantId, MOST_REVOKED_KEYS);
      yield* ask.accounts.insertKey(key);
      return true;
    },
    touchKey: (id, now) => ask.accounts.touchKey({ id, now }),
    revokeKey: (id, now) => ask.accounts.revokeKey(now, id),
    pruneKeys: (before, limit) => ask.accounts.pruneKeys(before, limit),
    *changeKey(tenantId, id, change) {
      const key = yield* ask.accounts.getKey(tenantId, id);
      if (key === null || key.revokedAt !== null) return null;
      const changed = { ...key, ...change };
      const { name, scopes, rateLimit, expiresAt } = changed;
      yield* ask.accounts.updateKey({ id, name, scopes, rateLimit, expiresAt });
      return changed;
    },
  } satisfies Scripts<AccountStore & KeyStore>;
}
