-- What profiles learned from the feedback on their signals. `asked` increases with each rating and each change of the profile;
-- `learned` is the value that the lesson is based on. `lesson` is JSON, null until there is one.
CREATE TABLE profile_lessons (
  profile_id TEXT PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  asked INTEGER NOT NULL DEFAULT 1,
  learned INTEGER NOT NULL DEFAULT 0,
  lesson TEXT,
  is_on INTEGER NOT NULL DEFAULT 1 CHECK (is_on IN (0, 1)),
  version INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX profile_lessons_by_tenant ON profile_lessons (tenant_id, version);
CREATE INDEX profile_lessons_due ON profile_lessons (profile_id) WHERE asked > learned;
INSERT INTO profile_lessons (profile_id, tenant_id)
  SELECT DISTINCT p.id, p.tenant_id FROM signal_feedback f JOIN icp_profiles p ON p.id = f.profile_id WHERE p.deleted_at IS NULL;

-- Posts are scored with another lesson: cached reads of the tenant are no longer valid.
CREATE TRIGGER profile_lessons_changed AFTER UPDATE OF version ON profile_lessons
WHEN NEW.version <> OLD.version BEGIN
  UPDATE tenants SET revision = revision + 1 WHERE id = NEW.tenant_id;
END;
