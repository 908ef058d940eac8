-- The sources in which posts are detected.
CREATE TABLE sources (
  id               TEXT    NOT NULL PRIMARY KEY,
  tenant_id        TEXT    NOT NULL REFERENCES tenants (id),
  kind             TEXT    NOT NULL,
  name             TEXT    NOT NULL,
  -- The name in its comparable form: unique per tenant, regardless of case.
  name_key         TEXT    NOT NULL,
  -- The settings of its kind (address, query, tags, board) and its profiles as JSON: read whole, never searched.
  settings         TEXT    NOT NULL,
  profile_ids      TEXT    NOT NULL,
  interval_seconds INTEGER NOT NULL,
  status           TEXT    NOT NULL,
  next_poll_at     INTEGER NOT NULL,
  -- The source asked not to be read before this time, which callers cannot override.
  not_before       INTEGER NOT NULL DEFAULT 0,
  last_run_at      INTEGER,
  last_success_at  INTEGER,
  last_error       TEXT,
  failures         INTEGER NOT NULL DEFAULT 0,
  items_seen       INTEGER NOT NULL DEFAULT 0,
  signals_made     INTEGER NOT NULL DEFAULT 0,
  -- The position up to which it was read, as JSON; written together with the signals found on the way.
  position         TEXT    NOT NULL,
  -- The holder of its run and the end of the lease: a run is stored only with the token it was claimed with.
  lease_token      TEXT,
  lease_until      INTEGER NOT NULL DEFAULT 0,
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL,
  -- Increases with each change by a caller: a change applies only to the version it was based on.
  version          INTEGER NOT NULL,
  due_at           INTEGER GENERATED ALWAYS AS
                     (CASE status WHEN 'active' THEN max(next_poll_at, lease_until) END) VIRTUAL
) STRICT;
CREATE UNIQUE INDEX sources_by_name ON sources (tenant_id, name_key);
CREATE INDEX sources_by_time ON sources (tenant_id, created_at, id);
CREATE INDEX sources_due ON sources (due_at) WHERE due_at IS NOT NULL;
