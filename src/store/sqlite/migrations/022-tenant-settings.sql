-- The settings of a tenant and the state of its daily digest. One row per tenant, created with it.
CREATE TABLE tenant_settings (
  tenant_id      TEXT    NOT NULL PRIMARY KEY REFERENCES tenants (id),
  timezone       TEXT    NOT NULL DEFAULT 'UTC',
  digest_enabled INTEGER NOT NULL DEFAULT 1,
  digest_hour    INTEGER NOT NULL DEFAULT 8,
  -- When the next one is due; 0: not planned yet.
  digest_due_at  INTEGER NOT NULL DEFAULT 0,
  -- The time up to which signals were included; null: none yet. Signals from before the digest was planned are not included.
  digest_since   INTEGER,
  -- When the last one was created; null: none yet.
  digest_made_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tenant_settings_due ON tenant_settings (digest_due_at) WHERE digest_enabled = 1;
INSERT INTO tenant_settings (tenant_id) SELECT id FROM tenants;
