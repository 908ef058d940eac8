import type { Database } from 'better-sqlite3';
import type { IcpProfile } from '../../../model/icp.ts';
import { phraseCount, profileNameKey } from '../../../rules/words.ts';
import type { ProfileStatements } from '../../changes/profiles.ts';
import { PROFILE_COUNT_SQL, PROFILES, type ProfileRow, profileReads } from '../reads/profiles.ts';
import { changed, count, run, value } from './prepared.ts';

/** With the normalized name, which is unique per tenant, and the number of phrases, since settings are only read whole. */
const STORED = PROFILES.with<StoredColumns>({ nameKey: 'plain', phraseCount: 'plain' });

interface StoredColumns {
  nameKey: string;
  phraseCount: number;
}

function toRow(profile: IcpProfile): ProfileRow & StoredColumns {
  const { id, tenantId, name, active, createdAt, updatedAt, version, ...settings } = profile;
  const own = { id, tenantId, name, active, createdAt, updatedAt, version };
  return { ...own, nameKey: profileNameKey(name), phraseCount: phraseCount(profile), settings };
}

export function profilesSql(db: Database): ProfileStatements['profiles'] {
  const update = changed<Record<string, unknown>[]>(
    db,
    `UPDATE icp_profiles SET name = :name, name_key = :nameKey, settings = :settings, phrase_count = :phraseCount, active = :active,
       updated_at = :updatedAt, version = :version
     WHERE id = :id AND tenant_id = :tenantId AND version = :version - 1 AND deleted_at IS NULL`,
  );
  const insert = STORED.insert(db);
  return {
    updateProfile: (profile) => update(STORED.encode(toRow(profile))),
    markDeleted: run(
      db,
      `UPDATE icp_profiles SET deleted_at = ?, settings = '{}' WHERE id = ? AND tenant_id = ? AND deleted_at IS NULL`,
    ),
    deleteLesson: run(db, 'DELETE FROM profile_lessons WHERE profile_id = ?'),
    selectNamed: value(
      db,
      'SELECT id FROM icp_profiles WHERE tenant_id = ? AND name_key = ? AND deleted_at IS NULL',
    ),
    countProfile: value(db, PROFILE_COUNT_SQL),
    countPhrases: value(
      db,
      `SELECT ifnull(sum(phrase_count), 0) FROM icp_profiles INDEXED BY icp_profiles_phrases
       WHERE tenant_id = ? AND id <> ? AND deleted_at IS NULL`,
    ),
    // A lesson also depends on the offer.
    askForLesson: run(db, 'UPDATE profile_lessons SET asked = asked + 1 WHERE profile_id = ?'),
    renewLessons: count(
      db,
      `UPDATE profile_lessons SET asked = asked + 1
       WHERE lesson IS NOT NULL AND asked = learned AND lesson ->> '$.model' <> ?`,
    ),
    saveLesson: run(
      db,
      `UPDATE profile_lessons SET learned = max(learned, :asked), lesson = :lesson,
         version = version + (lesson IS NOT :lesson)
       WHERE profile_id = :profileId AND tenant_id = :tenantId`,
    ),
    switchLesson: changed(
      db,
      `UPDATE profile_lessons SET is_on = :isOn, version = version + 1
       WHERE tenant_id = :tenantId AND profile_id = :profileId AND lesson IS NOT NULL AND is_on <> :isOn`,
    ),
    saveDecision: changed(
      db,
      `INSERT INTO suggestion_decisions (profile_id, suggestion, tenant_id, decision, decided_at)
     VALUES (:profileId, :suggestion, :tenantId, :decision, :decidedAt) ON CONFLICT DO NOTHING`,
    ),
    removeDecision: value(
      db,
      'DELETE FROM suggestion_decisions WHERE tenant_id = ? AND profile_id = ? AND suggestion = ? RETURNING decision',
    ),
    insertProfile: (profile) => insert(toRow(profile)),
    getProfile: profileReads(db).getProfile,
  };
}
