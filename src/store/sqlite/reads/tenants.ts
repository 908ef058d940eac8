import type { Database } from 'better-sqlite3';
import type { Tenant } from '../../../model/tenant.ts';
import type { AccountStore, StoredRows } from '../../account-store.ts';
import type { PlanStore } from '../../plan-store.ts';
import type { Part } from '../../store.ts';
import { Table } from '../table.ts';

export const TENANTS = new Table<Tenant>('tenants', {
  id: 'plain',
  name: 'plain',
  plan: 'plain',
  trialEndsAt: 'plain',
  createdAt: 'plain',
});

export function tenantReads(db: Database) {
  const selectAll = TENANTS.rows<[], { ownerEmail: string }>(
    db,
    `SELECT ${TENANTS.list},
       ifnull((SELECT o.email FROM owners o WHERE o.tenant_id = t.id AND o.role = 'owner'
               ORDER BY o.created_at, o.id LIMIT 1), '') AS ownerEmail
     FROM tenants t ORDER BY t.created_at, t.id`,
  );
  const selectOne = TENANTS.select<[string]>(db, 'WHERE id = ?');
  const selectStored = db.prepare<[string], StoredRows>(
    'SELECT signals, leads, campaign_events AS campaignEvents FROM stored_rows WHERE tenant_id = ?',
  );
  const selectEndedTrials = db
    .prepare<[number, number], string>(
      "SELECT id FROM tenants WHERE plan = 'trial' AND trial_ends_at <= ? ORDER BY trial_ends_at LIMIT ?",
    )
    .pluck();

  return {
    listTenants: () => selectAll.all(),
    getTenant: (id) => selectOne.get(id),
    countStored: (tenantId) => selectStored.get(tenantId) ?? { signals: 0, leads: 0, campaignEvents: 0 },
    listEndedTrials: (now, limit) => selectEndedTrials.all(now, limit),
  } satisfies Part<AccountStore & PlanStore>;
}
