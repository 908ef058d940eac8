import type { Database } from 'better-sqlite3';
import type { Plan, Tenant } from '../../../model/tenant.ts';
import type { AccountStore, StoredRows } from '../../account-store.ts';
import type { PlanStore } from '../../plan-store.ts';
import type { Part } from '../../store.ts';

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

export function tenantReads(db: Database) {
  const selectAll = db.prepare<[], TenantRow & { owner_email: string | null }>(
    `SELECT t.*, (SELECT o.email FROM owners o WHERE o.tenant_id = t.id AND o.role = 'owner'
            ORDER BY o.created_at, o.id LIMIT 1) AS owner_email
     FROM tenants t ORDER BY t.created_at, t.id`,
  );
  const selectOne = db.prepare<[string], TenantRow>('SELECT * FROM tenants WHERE id = ?');
  const selectStored = db.prepare<[string], StoredRows>(
    'SELECT signals, leads, campaign_events AS campaignEvents FROM stored_rows WHERE tenant_id = ?',
  );
  const selectEndedTrials = db
    .prepare<[number, number], string>(
      "SELECT id FROM tenants WHERE plan = 'trial' AND trial_ends_at <= ? ORDER BY trial_ends_at LIMIT ?",
    )
    .pluck();

  return {
    listTenants: () =>
      selectAll.all().map((row) => ({ ...toTenant(row), ownerEmail: row.owner_email ?? '' })),
    getTenant(id) {
      const row = selectOne.get(id);
      return row === undefined ? null : toTenant(row);
    },
    countStored: (tenantId) => selectStored.get(tenantId) ?? { signals: 0, leads: 0, campaignEvents: 0 },
    listEndedTrials: (now, limit) => selectEndedTrials.all(now, limit),
  } satisfies Part<AccountStore & PlanStore>;
}
