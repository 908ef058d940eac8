-- What a tenant has settled, and where its daily digest stands. A row for each tenant, made with it.
CREATE TABLE tenant_settings (
  tenant_id      TEXT    NOT NULL PRIMARY KEY REFERENCES tenants (id),
  timezone       TEXT    NOT NULL DEFAULT 'UTC',
  digest_enabled INTEGER NOT NULL DEFAULT 1,
  digest_hour    INTEGER NOT NULL DEFAULT 8,
  -- When the next one is due; 0: not planned yet.
  digest_due_at  INTEGER NOT NULL DEFAULT 0,
  -- Up to when signals are told of; null: not told of any yet, and of none from before it is planned.
  digest_since   INTEGER,
  -- When the last one was made; null: none yet.
  digest_made_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX tenant_settings_due ON tenant_settings (digest_due_at) WHERE digest_enabled = 1;
INSERT INTO tenant_settings (tenant_id) SELECT id FROM tenants;
