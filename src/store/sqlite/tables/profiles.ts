import type { Database } from 'better-sqlite3';
import { DEFAULT_WEIGHTS, type IcpProfile, profileNameKey } from '../../../model/icp.ts';

interface ProfileRow {
  id: string;
  tenant_id: string;
  name: string;
  settings: string;
  active: number;
  created_at: number;
  updated_at: number;
  version: number;
}

type Column = 'id' | 'tenantId' | 'name' | 'active' | 'createdAt' | 'updatedAt' | 'version';
type ProfileSettings = Omit<IcpProfile, Column>;

function toProfile(row: ProfileRow): IcpProfile {
  const settings = JSON.parse(row.settings) as Partial<Pick<IcpProfile, 'weights'>> &
    Omit<ProfileSettings, 'weights'>;
  return {
    ...settings,
    weights: settings.weights ?? { ...DEFAULT_WEIGHTS }, // those stored before there were weights have none
    id: row.id,
    tenantId: row.tenant_id,
    name: row.name,
    active: row.active === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    version: row.version,
  };
}

function toColumns(profile: IcpProfile) {
  const { id, tenantId, name, active, createdAt, updatedAt, version, ...settings } = profile;
  const nameKey = profileNameKey(name);
  const text = JSON.stringify(settings satisfies ProfileSettings);
  return {
    id,
    tenantId,
    name,
    nameKey,
    settings: text,
    active: active ? 1 : 0,
    createdAt,
    updatedAt,
    version,
  };
}

export function createProfileSql(db: Database) {
  const insert = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO icp_profiles
       (id, tenant_id, name, name_key, settings, active, created_at, updated_at, version)
     VALUES (:id, :tenantId, :name, :nameKey, :settings, :active, :createdAt, :updatedAt, :version)`,
  );
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE icp_profiles SET name = :name, name_key = :nameKey, settings = :settings, active = :active,
       updated_at = :updatedAt, version = :version
     WHERE id = :id AND tenant_id = :tenantId AND version = :version - 1 AND deleted_at IS NULL`,
  );
  const markDeleted = db.prepare<[number, string, string]>(
    'UPDATE icp_profiles SET deleted_at = ? WHERE id = ? AND tenant_id = ? AND deleted_at IS NULL',
  );
  const selectPage = db.prepare<Record<string, unknown>[], ProfileRow>(
    `SELECT * FROM icp_profiles
     WHERE tenant_id = :tenantId AND deleted_at IS NULL AND (created_at, id) > (:createdAt, :id)
     ORDER BY created_at, id LIMIT :limit`,
  );
  const selectOne = db.prepare<[string, string], ProfileRow>(
    'SELECT * FROM icp_profiles WHERE id = ? AND tenant_id = ? AND deleted_at IS NULL',
  );
  const selectNamed = db
    .prepare<[string, string], string>(
      'SELECT id FROM icp_profiles WHERE tenant_id = ? AND name_key = ? AND deleted_at IS NULL',
    )
    .pluck();
  const count = db
    .prepare<[string], number>('SELECT count(*) FROM icp_profiles WHERE tenant_id = ? AND deleted_at IS NULL')
    .pluck();
  const selectNames = db.prepare<[string], { id: string; nameKey: string }>(
    'SELECT id, name_key AS nameKey FROM icp_profiles WHERE tenant_id = ?',
  );

  return {
    insert(profile: IcpProfile): void {
      insert.run(toColumns(profile));
    },
    update: (profile: IcpProfile): boolean => update.run(toColumns(profile)).changes === 1,
    markDeleted: (tenantId: string, id: string, now: number): boolean =>
      markDeleted.run(now, id, tenantId).changes === 1,
    count: (tenantId: string): number => count.get(tenantId) ?? 0,
    /** Id of the profile that is called so. */
    named: (tenantId: string, name: string): string | null =>
      selectNamed.get(tenantId, profileNameKey(name)) ?? null,
    list: (tenantId: string): IcpProfile[] =>
      selectPage.all({ tenantId, createdAt: -1, id: '', limit: -1 }).map(toProfile),
    page: (tenantId: string, page: { createdAt: number; id: string; limit: number }): IcpProfile[] =>
      selectPage.all({ tenantId, ...page }).map(toProfile),
    get(tenantId: string, id: string): IcpProfile | null {
      const row = selectOne.get(id, tenantId);
      return row === undefined ? null : toProfile(row);
    },
    /** Ids of the tenant's profiles, deleted ones too, that are meant by `idsOrNames`; names in whatever case. */
    resolve(tenantId: string, idsOrNames: string[]): string[] {
      const wanted = new Set(idsOrNames);
      const names = new Set(idsOrNames.map(profileNameKey));
      return selectNames
        .all(tenantId)
        .filter((row) => wanted.has(row.id) || names.has(row.nameKey))
        .map((row) => row.id);
    },
  };
}
