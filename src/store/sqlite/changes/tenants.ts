import type { Database } from 'better-sqlite3';
import type { IcpProfile } from '../../../model/icp.ts';
import type { Owner, Plan, Tenant } from '../../../model/tenant.ts';
import { overPlanMail } from '../../../rules/plan-fit.ts';
import type { AccountStore } from '../../account-store.ts';
import type { PlanFit, PlanStore, PlanTerms } from '../../plan-store.ts';
import type { Part } from '../../store.ts';
import { createEndpointPlan } from './endpoint-plan.ts';
import { createKeyWriter } from './keys.ts';
import { createMailWriter } from './mail.ts';
import { createProfileWriter } from './profiles.ts';
import { sessionChanges } from './sessions.ts';

/** Tenants with their owners, and their plans. */
export function tenantChanges(db: Database) {
  const insertTenant = db.prepare<[string, string, string, number | null, number]>(
    'INSERT INTO tenants (id, name, plan, trial_ends_at, created_at) VALUES (?, ?, ?, ?, ?)',
  );
  const insertSettings = db.prepare<[string, number]>(
    'INSERT INTO tenant_settings (tenant_id, digest_since) VALUES (?, ?)',
  );
  const insertOwner = db.prepare<[string, string, string, string, number, number]>(
    `INSERT INTO owners (id, tenant_id, email, setup_token_hash, setup_expires_at, created_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const selectAny = db.prepare<[], number>('SELECT 1 FROM tenants LIMIT 1').pluck();
  const updatePlan = db.prepare<[string, number | null, string]>(
    'UPDATE tenants SET plan = ?, trial_ends_at = ? WHERE id = ?',
  );
  const endTrial = db.prepare<[string, string, number]>(
    "UPDATE tenants SET plan = ? WHERE id = ? AND plan = 'trial' AND trial_ends_at <= ?",
  );
  const insertKey = createKeyWriter(db);
  const insertProfile = createProfileWriter(db);
  const fitEndpoints = createEndpointPlan(db);
  const addMail = createMailWriter(db);
  const { setPasswordByLink } = sessionChanges(db);

  /** Endpoints that are paused without anyone having asked for it are told to the owner. */
  function holdToPlan(tenantId: string, plan: Plan, terms: PlanTerms): PlanFit {
    const result = fitEndpoints(tenantId, terms);
    const { paused } = result;
    const mail = overPlanMail({ tenantId, plan, limit: terms.endpoints, paused, now: terms.now });
    if (mail !== null) addMail(mail);
    return result;
  }

  function insertWhole(tenant: Tenant, owner: Owner, profile: IcpProfile): void {
    insertTenant.run(tenant.id, tenant.name, tenant.plan, tenant.trialEndsAt, tenant.createdAt);
    insertSettings.run(tenant.id, tenant.createdAt);
    const { id, tenantId, email, setupTokenHash, setupExpiresAt, createdAt } = owner;
    insertOwner.run(id, tenantId, email, setupTokenHash, setupExpiresAt, createdAt);
    insertProfile(profile);
  }

  return {
    createTenant({ tenant, owner, profile, key }) {
      insertWhole(tenant, owner, profile);
      insertKey(key);
    },
    foundTenant({ tenant, owner, profile, passwordHash, session }) {
      if (selectAny.get() !== undefined) return false;
      insertWhole(tenant, owner, profile);
      const { setupTokenHash: linkHash, createdAt: now } = owner;
      setPasswordByLink({ linkHash, passwordHash, session, now });
      return true;
    },
    setPlan(tenantId, { plan, trialEndsAt, terms }) {
      if (updatePlan.run(plan, trialEndsAt, tenantId).changes === 0) return null;
      return holdToPlan(tenantId, plan, terms);
    },
    endTrial(tenantId, plan, terms) {
      if (endTrial.run(plan, tenantId, terms.now).changes === 0) return null;
      return holdToPlan(tenantId, plan, terms);
    },
  } satisfies Part<AccountStore & PlanStore>;
}
