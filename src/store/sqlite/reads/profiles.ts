import type { Database } from 'better-sqlite3';
import { DEFAULT_WEIGHTS, MOST_DECISIONS } from '../../../model/constants.ts';
import type { IcpProfile } from '../../../model/icp.ts';
import { profileNameKey } from '../../../rules/words.ts';
import { type CreationPage, creationPage, pageByBytes } from '../../pages.ts';
import {
  type DueLesson,
  LESSONS_COMPARED,
  type ProfileColumn,
  type ProfileStore,
  type StoredLesson,
} from '../../profile-store.ts';
import { type Part, Table } from '../table.ts';

/** The part of a profile that is stored as JSON. Older rows lack members that were added later. */
type StoredSettings = Omit<IcpProfile, ProfileColumn | LaterSetting> &
  Partial<Pick<IcpProfile, LaterSetting>>;
type LaterSetting = 'offer' | 'weights' | 'mutedAuthors' | 'mutedSources' | 'signalTypes';

/** A profile as stored. */
export type ProfileRow = Pick<IcpProfile, ProfileColumn> & { settings: StoredSettings };

export const PROFILES = new Table<ProfileRow>('icp_profiles', {
  id: 'plain',
  tenantId: 'plain',
  name: 'plain',
  settings: 'json',
  active: 'flag',
  createdAt: 'plain',
  updatedAt: 'plain',
  version: 'plain',
});

/** The newest decisions on a profile's suggestions, oldest first. */
export const DECISIONS_SQL = `SELECT decision FROM (
    SELECT decision, decided_at, suggestion FROM suggestion_decisions WHERE tenant_id = ? AND profile_id = ?
    ORDER BY decided_at DESC, suggestion DESC LIMIT ${MOST_DECISIONS})
  ORDER BY decided_at, suggestion`;

function toProfile({ settings, ...own }: ProfileRow): IcpProfile {
  return {
    offer: '',
    mutedAuthors: [],
    mutedSources: [],
    signalTypes: [],
    weights: { ...DEFAULT_WEIGHTS },
    ...settings,
    ...own,
  };
}

export function profileReads(db: Database) {
  const page = `WHERE tenant_id = +:tenantId AND deleted_at IS NULL AND (created_at, id) > (:createdAt, :id)
     ORDER BY created_at, id LIMIT +:limit`;
  const selectSizes = db.prepare<
    [{ tenantId: string } & CreationPage],
    { createdAt: number; id: string; bytes: number }
  >(`SELECT created_at AS createdAt, id, octet_length(settings) AS bytes FROM icp_profiles ${page}`);
  const selectPage = PROFILES.select<[{ tenantId: string } & CreationPage]>(db, page);
  const selectOne = PROFILES.select<[string, string]>(
    db,
    'WHERE id = ? AND tenant_id = ? AND deleted_at IS NULL',
  );
  // IDs increase, so that one that replaces another is noticed.
  const selectStamp = db.prepare<[{ tenantId: string }], string>(PROFILE_STAMP_SQL).pluck();
  const selectLessons = db.prepare<[string], Omit<StoredLesson, 'isOn'> & { isOn: 0 | 1 }>(
    `SELECT profile_id AS profileId, version, is_on AS isOn, lesson FROM profile_lessons
     WHERE tenant_id = ? AND version > 0`,
  );
  // Sorting 300,000 took 0.3 s.
  const selectDue = db.prepare<[number, number], DueLesson>(
    `SELECT tenant_id AS tenantId, profile_id AS profileId, asked
     FROM (SELECT * FROM profile_lessons WHERE asked > learned ORDER BY profile_id LIMIT ?)
     ORDER BY row_number() OVER (PARTITION BY tenant_id ORDER BY profile_id), profile_id LIMIT ?`,
  );

  const count = db.prepare<[string], number>(PROFILE_COUNT_SQL).pluck();
  const selectDecisions = db.prepare<[string, string], string>(DECISIONS_SQL).pluck();

  return {
    listSuggestionDecisions: (tenantId, profileId) => selectDecisions.all(tenantId, profileId),
    listLessons: (tenantId) =>
      selectLessons.all(tenantId).map(({ isOn, ...lesson }) => ({ ...lesson, isOn: isOn === 1 })),
    listDueLessons: (limit) => selectDue.all(LESSONS_COMPARED * limit, limit),
    profileStamp: (tenantId) => selectStamp.get({ tenantId }) ?? '',
    countProfiles: (tenantId) => count.get(tenantId) ?? 0,
    /** A part of the page: as many as are read at once. */
    pageProfiles(tenantId, page) {
      const place = creationPage(page);
      const { rows, last } = pageByBytes(page, selectSizes.all({ tenantId, ...place }));
      return { rows: selectPage.all({ tenantId, ...place, limit: rows.length }).map(toProfile), last };
    },
    getProfile(tenantId, id) {
      const row = selectOne.get(id, tenantId);
      return row === null ? null : toProfile(row);
    },
  } satisfies Part<ProfileStore>;
}

/**
 * Uses an index of the profiles that are not deleted, which contains `deleted_at`. In the table, that column follows the settings: counting
 * ninety long profiles read 22 MB.
 */
export const PROFILE_COUNT_SQL = `SELECT count(*) FROM icp_profiles INDEXED BY icp_profiles_live_versions
  WHERE tenant_id = ? AND deleted_at IS NULL`;

/** In the same index: deleted profiles are kept, and half a million took 50 ms after each change. */
export const PROFILE_STAMP_SQL = `SELECT count(*) || '-' || ifnull(sum(version), 0) || '-' || ifnull(max(id), '') || '-' ||
    (SELECT ifnull(sum(version), 0) FROM profile_lessons WHERE tenant_id = :tenantId)
  FROM icp_profiles INDEXED BY icp_profiles_live_versions WHERE tenant_id = :tenantId AND deleted_at IS NULL`;

/** Deleted profiles of one name whose signals a list includes: the latest ones. A name may be used again any number of times. */
const MOST_OF_A_NAME = 20;

/** IDs of the tenant's profiles, including deleted ones, by ID or name (case-insensitive). */
export function createProfileResolver(
  db: Database,
): (tenantId: string, idsOrNames: readonly string[]) => string[] {
  const selectOwn = db
    .prepare<[string, string], string>('SELECT id FROM icp_profiles WHERE id = ? AND tenant_id = ?')
    .pluck();
  const selectNamed = db
    .prepare<[string, string, number], string>(
      `SELECT id FROM icp_profiles INDEXED BY icp_profiles_by_key WHERE tenant_id = ? AND name_key = ?
       ORDER BY id DESC LIMIT ?`,
    )
    .pluck();

  return (tenantId, idsOrNames) => {
    const found = idsOrNames.flatMap((asked) => [
      ...selectOwn.all(asked, tenantId),
      ...selectNamed.all(tenantId, profileNameKey(asked), MOST_OF_A_NAME),
    ]);
    return [...new Set(found)];
  };
}
