import type { Database } from 'better-sqlite3';
import type { IcpProfile } from '../../../model/icp.ts';
import type { Owner, Plan, Tenant } from '../../../model/tenant.ts';
import { overPlanMail } from '../../../rules/plan-fit.ts';
import type { AccountStore } from '../../account-store.ts';
import type { PlanFit, PlanStore, PlanTerms } from '../../plan-store.ts';
import type { Part } from '../../store.ts';
import { KEYS } from '../reads/keys.ts';
import { TENANTS } from '../reads/tenants.ts';
import { Table } from '../table.ts';
import { createEndpointPlan } from './endpoint-plan.ts';
import { createMailWriter } from './mail.ts';
import { createProfileWriter } from './profiles.ts';
import { sessionChanges } from './sessions.ts';

/** A person as they are made with their tenant; as `reads/sessions.ts` has them from then on. */
const OWNERS = new Table<Owner>('owners', {
  id: 'plain',
  tenantId: 'plain',
  email: 'plain',
  setupTokenHash: 'plain',
  setupExpiresAt: 'plain',
  createdAt: 'plain',
});

/** Tenants with their owners, and their plans. */
export function tenantChanges(db: Database) {
  const insertTenant = TENANTS.insert(db);
  const insertSettings = db.prepare<[string, number]>(
    'INSERT INTO tenant_settings (tenant_id, digest_since) VALUES (?, ?)',
  );
  const insertOwner = OWNERS.insert(db);
  const selectAny = db.prepare<[], number>('SELECT 1 FROM tenants LIMIT 1').pluck();
  const updatePlan = db.prepare<[string, number | null, string]>(
    'UPDATE tenants SET plan = ?, trial_ends_at = ? WHERE id = ?',
  );
  const endTrial = db.prepare<[string, string, number]>(
    "UPDATE tenants SET plan = ? WHERE id = ? AND plan = 'trial' AND trial_ends_at <= ?",
  );
  const insertKey = KEYS.insert(db);
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
    insertTenant(tenant);
    insertSettings.run(tenant.id, tenant.createdAt);
    insertOwner(owner);
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
