-- Subscriptions of MCP clients (SEP-3415). Each has an endpoint with the mode `mcp`, which is deleted with it.
CREATE TABLE mcp_subscriptions (
  id          TEXT    NOT NULL PRIMARY KEY,
  tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
  key_id      TEXT    NOT NULL,
  endpoint_id TEXT    NOT NULL UNIQUE,
  name        TEXT    NOT NULL,
  expires_at  INTEGER NOT NULL,
  created_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX mcp_subscriptions_by_key ON mcp_subscriptions (tenant_id, key_id);
