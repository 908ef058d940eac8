import type { Database } from 'better-sqlite3';
import type { IcpProfile } from '../../../model/icp.ts';
import { profileNameKey } from '../../../rules/name-keys.ts';
import { phraseCount } from '../../../rules/profile-phrases.ts';
import type { ProfileStore } from '../../profile-store.ts';
import type { Part } from '../../store.ts';
import { type KeptProfile, PROFILES, profileReads } from '../reads/profiles.ts';

/** With the name as no two of a tenant have it. */
const STORED = PROFILES.with<{ nameKey: string }>({ nameKey: 'plain' });

function toRow(profile: IcpProfile): KeptProfile & { nameKey: string } {
  const { id, tenantId, name, active, createdAt, updatedAt, version, ...settings } = profile;
  const own = { id, tenantId, name, active, createdAt, updatedAt, version };
  return { ...own, nameKey: profileNameKey(name), settings };
}

/** Stores a new profile: part of a change. */
export function createProfileWriter(db: Database): (profile: IcpProfile) => void {
  const insert = STORED.insert(db);
  return (profile) => void insert(toRow(profile));
}

export function profileChanges(db: Database) {
  const insert = createProfileWriter(db);
  const update = db.prepare<Record<string, unknown>[]>(
    `UPDATE icp_profiles SET name = :name, name_key = :nameKey, settings = :settings, active = :active,
       updated_at = :updatedAt, version = :version
     WHERE id = :id AND tenant_id = :tenantId AND version = :version - 1 AND deleted_at IS NULL`,
  );
  const markDeleted = db.prepare<[number, string, string]>(
    'UPDATE icp_profiles SET deleted_at = ? WHERE id = ? AND tenant_id = ? AND deleted_at IS NULL',
  );
  const selectNamed = db
    .prepare<[string, string], string>(
      'SELECT id FROM icp_profiles WHERE tenant_id = ? AND name_key = ? AND deleted_at IS NULL',
    )
    .pluck();
  const count = db
    .prepare<[string], number>('SELECT count(*) FROM icp_profiles WHERE tenant_id = ? AND deleted_at IS NULL')
    .pluck();
  const length = (list: string) => `json_array_length(settings, '$.${list}')`;
  const countPhrases = db
    .prepare<[string, string], number>(
      `SELECT ifnull(sum(${length('phrases')} + ${length('excludedPhrases')} + ${length('competitors')}), 0)
       FROM icp_profiles WHERE tenant_id = ? AND id <> ? AND deleted_at IS NULL`,
    )
    .pluck();
  const saveDecision = db.prepare<Record<string, unknown>[]>(
    `INSERT INTO suggestion_decisions (profile_id, suggestion, tenant_id, decision, decided_at)
     VALUES (:profileId, :suggestion, :tenantId, :decision, :decidedAt) ON CONFLICT DO NOTHING`,
  );
  const removeDecision = db
    .prepare<[string, string, string], string>(
      'DELETE FROM suggestion_decisions WHERE tenant_id = ? AND profile_id = ? AND suggestion = ? RETURNING decision',
    )
    .pluck();
  const { getProfile } = profileReads(db);

  const exceeds = (profile: IcpProfile, limit: number) =>
    (countPhrases.get(profile.tenantId, profile.id) ?? 0) + phraseCount(profile) > limit;

  const holderOf = ({ tenantId, name }: IcpProfile) => selectNamed.get(tenantId, profileNameKey(name));

  return {
    createProfile(profile, limit, phraseLimit = Number.POSITIVE_INFINITY) {
      if (holderOf(profile) !== undefined) return 'name_taken';
      if ((count.get(profile.tenantId) ?? 0) >= limit) return 'full';
      if (exceeds(profile, phraseLimit)) return 'too_many_phrases';
      insert(profile);
      return 'created';
    },
    changeProfile(profile, phraseLimit = Number.POSITIVE_INFINITY) {
      const holder = holderOf(profile);
      if (holder !== undefined && holder !== profile.id) return 'name_taken';
      const before = getProfile(profile.tenantId, profile.id);
      const grows = before === null || phraseCount(profile) > phraseCount(before);
      if (grows && exceeds(profile, phraseLimit)) return 'too_many_phrases';
      return update.run(STORED.encode(toRow(profile))).changes === 1 ? 'changed' : 'stale';
    },
    saveSuggestionDecision(decided) {
      return saveDecision.run({ ...decided }).changes === 1;
    },
    removeSuggestionDecision(tenantId, profileId, suggestion) {
      return removeDecision.get(tenantId, profileId, suggestion) ?? null;
    },
    deleteProfile(tenantId, id, now, version) {
      const profile = getProfile(tenantId, id);
      if (profile === null || (version ?? profile.version) !== profile.version) return 'missing';
      if (count.get(tenantId) === 1) return 'last';
      markDeleted.run(now, id, tenantId);
      return 'deleted';
    },
  } satisfies Part<ProfileStore>;
}
