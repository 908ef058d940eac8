-- A POST with an Idempotency-Key: reserved before it runs, completed when it has succeeded (store/request-store.ts).
CREATE TABLE idempotency_keys (
  tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
  route       TEXT    NOT NULL,
  key         TEXT    NOT NULL,
  fingerprint TEXT    NOT NULL,
  token       TEXT    NOT NULL,
  -- Until this time an unfinished request counts as running; later, its process must have died.
  lease_until INTEGER NOT NULL,
  expires_at  INTEGER NOT NULL,
  -- Null until it is completed.
  status      INTEGER,
  location    TEXT,
  body        TEXT,
  PRIMARY KEY (tenant_id, route, key)
) STRICT;
CREATE INDEX idempotency_keys_by_expiry ON idempotency_keys (expires_at);
