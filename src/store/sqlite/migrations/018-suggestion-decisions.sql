-- The decisions on changes suggested from feedback, so that each can be undone.
CREATE TABLE suggestion_decisions (
  profile_id TEXT    NOT NULL REFERENCES icp_profiles (id),
  suggestion TEXT    NOT NULL,
  tenant_id  TEXT    NOT NULL REFERENCES tenants (id),
  decision   TEXT    NOT NULL,
  decided_at INTEGER NOT NULL,
  PRIMARY KEY (profile_id, suggestion)
) STRICT, WITHOUT ROWID;
