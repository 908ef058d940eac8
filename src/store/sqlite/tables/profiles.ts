import type { Database } from 'better-sqlite3';
import type { IcpProfile } from '../../../model/icp.ts';

interface ProfileRow {
  id: string;
  tenant_id: string;
  name: string;
  settings: string;
  active: number;
  created_at: number;
}

type ProfileSettings = Omit<IcpProfile, 'id' | 'tenantId' | 'name' | 'active' | 'createdAt'>;

function toProfile(row: ProfileRow): IcpProfile {
  return {
    ...(JSON.parse(row.settings) as ProfileSettings),
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    active: row.active === 1,
    createdAt: row.created_at,
  };
}

export function createProfileSql(db: Database) {
  const insert = db.prepare<[string, string, string, string, number, number]>(
    'INSERT INTO icp_profiles (id, tenant_id, name, settings, active, created_at) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const selectOfTenant = db.prepare<[string], ProfileRow>(
    'SELECT * FROM icp_profiles WHERE tenant_id = ? ORDER BY created_at, id',
  );
  const selectNames = db.prepare<[string], { id: string; name: string }>(
    'SELECT id, name FROM icp_profiles WHERE tenant_id = ?',
  );

  return {
    insert(profile: IcpProfile): void {
      const { id, tenantId, name, active, createdAt, ...settings } = profile;
      insert.run(id, tenantId, name, JSON.stringify(settings), active ? 1 : 0, createdAt);
    },
    list: (tenantId: string): IcpProfile[] => selectOfTenant.all(tenantId).map(toProfile),
    /** Ids of the tenant's profiles that are meant by `idsOrNames`; names are compared without regard to case. */
    resolve(tenantId: string, idsOrNames: string[]): string[] {
      const wanted = new Set(idsOrNames);
      const names = new Set(idsOrNames.map((name) => name.toLowerCase()));
      return selectNames
        .all(tenantId)
        .filter((row) => wanted.has(row.id) || names.has(row.name.toLowerCase()))
        .map((row) => row.id);
    },
  };
}
