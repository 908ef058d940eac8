-- A deleted profile is kept for the signals that matched it, and its name becomes available.
ALTER TABLE icp_profiles ADD COLUMN deleted_at INTEGER;
-- The name in its comparable form: unique per tenant, regardless of case.
ALTER TABLE icp_profiles ADD COLUMN name_key TEXT NOT NULL DEFAULT '';
ALTER TABLE icp_profiles ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;
-- Increases with each change: a change applies only to the version it was based on.
ALTER TABLE icp_profiles ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
UPDATE icp_profiles SET name_key = lower(name), updated_at = created_at;
CREATE UNIQUE INDEX icp_profiles_by_name ON icp_profiles (tenant_id, name_key) WHERE deleted_at IS NULL;

-- Whether a signal was relevant, as last rated.
CREATE TABLE signal_feedback (
  signal_id  TEXT    NOT NULL PRIMARY KEY REFERENCES signals (id),
  relevant   INTEGER NOT NULL,
  reason     TEXT    NOT NULL,
  actor_id   TEXT    NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Events of one type, in the order of a page.
CREATE INDEX events_by_type ON events (tenant_id, type, created_at, id);
