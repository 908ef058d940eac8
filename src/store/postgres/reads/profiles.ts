import { DEFAULT_WEIGHTS, MOST_DECISIONS } from '../../../model/constants.ts';
import type { IcpProfile } from '../../../model/icp.ts';
import { profileNameKey } from '../../../rules/words.ts';
import { type CreationPage, creationPage, type NamedParameters, pageByCreation } from '../../pages.ts';
import {
  type DueLesson,
  LESSONS_COMPARED,
  type ProfileStore,
  type StoredLesson,
} from '../../profile-store.ts';
import type { Connection } from '../connection.ts';
import { rows, value, values } from '../sql/prepared.ts';
import { PROFILES, type ProfileRow } from '../tables.ts';

/** Defaults for settings that were added after a profile was stored. */
const LATER: Partial<IcpProfile> = {
  ...{ offer: '', mutedAuthors: [], mutedSources: [], signalTypes: [], weights: DEFAULT_WEIGHTS },
};

function toProfile({ settings, nameKey: _key, phraseCount: _count, ...own }: ProfileRow): IcpProfile {
  return { ...LATER, ...settings, ...own };
}

export function profileReads(db: Connection) {
  const selectPage = PROFILES.select<[{ tenantId: string } & CreationPage]>(
    db,
    `WHERE tenant_id = :tenantId AND deleted_at IS NULL AND (created_at, id) > (:createdAt, :id)
     ORDER BY created_at, id LIMIT :limit`,
  );
  const selectOne = PROFILES.select<[string, string]>(
    db,
    'WHERE id = ? AND tenant_id = ? AND deleted_at IS NULL',
  );
  // IDs increase, so that one that replaces another is noticed. Deleted profiles are kept, and would all be read.
  const selectStamp = value<[string], string>(
    db,
    `SELECT count(*) || '-' || coalesce(sum(version), 0) || '-' || coalesce(max(id), '') || '-' ||
       coalesce((SELECT sum(version) FROM profile_lessons WHERE tenant_id = max(p.tenant_id)), 0)
     FROM icp_profiles p WHERE tenant_id = ? AND deleted_at IS NULL`,
  );
  const count = value<[string], number>(
    db,
    'SELECT count(*) FROM icp_profiles WHERE tenant_id = ? AND deleted_at IS NULL',
  );
  const selectDueLessons = rows<[number, number], DueLesson>(
    db,
    `SELECT tenant_id AS "tenantId", profile_id AS "profileId", asked
     FROM (SELECT * FROM profile_lessons WHERE asked > learned ORDER BY profile_id LIMIT ?) due
     ORDER BY row_number() OVER (PARTITION BY tenant_id ORDER BY profile_id), profile_id LIMIT ?`,
  );
  const findPage = async (position: Parameters<typeof selectPage.all>[0]) =>
    (await selectPage.all(position)).map(toProfile);

  return {
    listSuggestionDecisions: values(
      db,
      `SELECT decision FROM (
         SELECT decision, decided_at, suggestion FROM suggestion_decisions WHERE tenant_id = ? AND profile_id = ?
         ORDER BY decided_at DESC, suggestion DESC LIMIT ${MOST_DECISIONS}) newest
       ORDER BY decided_at, suggestion`,
    ),
    listLessons: rows<[string], StoredLesson>(
      db,
      `SELECT profile_id AS "profileId", version, is_on AS "isOn", lesson FROM profile_lessons
       WHERE tenant_id = ? AND version > 0`,
    ),
    listDueLessons: (limit) => selectDueLessons(LESSONS_COMPARED * limit, limit),
    profileStamp: async (tenantId) => (await selectStamp(tenantId)) ?? '',
    countProfiles: async (tenantId) => (await count(tenantId)) ?? 0,
    pageProfiles: async (tenantId, page) =>
      pageByCreation(page, await findPage({ tenantId, ...creationPage(page) })),
    async getProfile(tenantId, id) {
      const found = await selectOne.get(id, tenantId);
      return found === null ? null : toProfile(found);
    },
  } satisfies Partial<ProfileStore>;
}

/** Deleted profiles of one name whose signals a list includes: the latest ones. A name may be used again any number of times. */
const MOST_OF_A_NAME = 20;

/** IDs of the tenant's profiles, including deleted ones, by ID or name (case-insensitive). */
export function createProfileResolver(
  db: Connection,
): (tenantId: string, idsOrNames: readonly string[]) => Promise<string[]> {
  const selectAsked = values<[NamedParameters], string>(
    db,
    `SELECT id FROM icp_profiles WHERE id = ANY (:ids::text[]) AND tenant_id = :tenantId
     UNION
     SELECT p.id FROM unnest(:names::text[]) n (name_key) CROSS JOIN LATERAL (
       SELECT id FROM icp_profiles WHERE tenant_id = :tenantId AND name_key = n.name_key COLLATE "C"
       ORDER BY id DESC LIMIT ${MOST_OF_A_NAME}) p`,
  );
  return (tenantId, ids) => selectAsked({ tenantId, ids, names: ids.map(profileNameKey) });
}
