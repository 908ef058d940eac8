import type { Database } from 'better-sqlite3';
import type { Owner, Plan, Tenant } from '../../../model/tenant.ts';

/** A `tenants` row. */
export interface TenantRow {
  id: string;
  name: string;
  plan: string;
  trial_ends_at: number | null;
  created_at: number;
}

export function toTenant(row: TenantRow): Tenant {
  return {
    id: row.id,
    name: row.name,
    plan: row.plan as Plan,
    trialEndsAt: row.trial_ends_at,
    createdAt: row.created_at,
  };
}

export function createTenantSql(db: Database) {
  const insertTenant = db.prepare<[string, string, string, number | null, number]>(
    'INSERT INTO tenants (id, name, plan, trial_ends_at, created_at) VALUES (?, ?, ?, ?, ?)',
  );
  const insertOwner = db.prepare<[string, string, string, string, number, number]>(
    `INSERT INTO owners (id, tenant_id, email, setup_token_hash, setup_expires_at, created_at)
     VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const selectAll = db.prepare<[], TenantRow & { owner_email: string | null }>(
    `SELECT t.*, (SELECT o.email FROM owners o WHERE o.tenant_id = t.id ORDER BY o.created_at, o.id LIMIT 1) AS owner_email
     FROM tenants t ORDER BY t.created_at, t.id`,
  );
  const selectOne = db.prepare<[string], TenantRow>('SELECT * FROM tenants WHERE id = ?');
  const updatePlan = db.prepare<[string, number | null, string]>(
    'UPDATE tenants SET plan = ?, trial_ends_at = ? WHERE id = ?',
  );

  const endTrial = db.prepare<[string, string, number]>(
    "UPDATE tenants SET plan = ? WHERE id = ? AND plan = 'trial' AND trial_ends_at <= ?",
  );
  const selectEndedTrials = db
    .prepare<[number, number], string>(
      "SELECT id FROM tenants WHERE plan = 'trial' AND trial_ends_at <= ? ORDER BY trial_ends_at LIMIT ?",
    )
    .pluck();

  return {
    insert(tenant: Tenant): void {
      insertTenant.run(tenant.id, tenant.name, tenant.plan, tenant.trialEndsAt, tenant.createdAt);
    },
    insertOwner(owner: Owner): void {
      insertOwner.run(
        owner.id,
        owner.tenantId,
        owner.email,
        owner.setupTokenHash,
        owner.setupExpiresAt,
        owner.createdAt,
      );
    },
    list: (): (Tenant & { ownerEmail: string })[] =>
      selectAll.all().map((row) => ({ ...toTenant(row), ownerEmail: row.owner_email ?? '' })),
    get(id: string): Tenant | null {
      const row = selectOne.get(id);
      return row === undefined ? null : toTenant(row);
    },
    setPlan: (id: string, plan: Plan, trialEndsAt: number | null): boolean =>
      updatePlan.run(plan, trialEndsAt, id).changes === 1,
    /** False where the trial has not run out, or the tenant is on another plan by now. */
    endTrial: (id: string, plan: Plan, now: number): boolean => endTrial.run(plan, id, now).changes === 1,
    endedTrials: (now: number, limit: number): string[] => selectEndedTrials.all(now, limit),
  };
}
