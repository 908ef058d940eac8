-- A deleted profile stays for the signals that were matched with it, and gives its name free.
ALTER TABLE icp_profiles ADD COLUMN deleted_at INTEGER;
-- The name as it is compared: no two of a tenant are called the same, in whatever case.
ALTER TABLE icp_profiles ADD COLUMN name_key TEXT NOT NULL DEFAULT '';
ALTER TABLE icp_profiles ADD COLUMN updated_at INTEGER NOT NULL DEFAULT 0;
-- Grows with each change: a change applies only to the version it was decided on.
ALTER TABLE icp_profiles ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
UPDATE icp_profiles SET name_key = lower(name), updated_at = created_at;
CREATE UNIQUE INDEX icp_profiles_by_name ON icp_profiles (tenant_id, name_key) WHERE deleted_at IS NULL;

-- Whether a signal was worth it, in the words of whoever spoke last.
CREATE TABLE signal_feedback (
  signal_id  TEXT    NOT NULL PRIMARY KEY REFERENCES signals (id),
  relevant   INTEGER NOT NULL,
  reason     TEXT    NOT NULL,
  actor_id   TEXT    NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Events of one kind, in the order of a page.
CREATE INDEX events_by_type ON events (tenant_id, type, created_at, id);
