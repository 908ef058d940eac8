-- Where posts are detected.
CREATE TABLE sources (
  id               TEXT    NOT NULL PRIMARY KEY,
  tenant_id        TEXT    NOT NULL REFERENCES tenants (id),
  kind             TEXT    NOT NULL,
  name             TEXT    NOT NULL,
  -- The name as it is compared: no two of a tenant are called the same, in whatever case.
  name_key         TEXT    NOT NULL,
  -- What its kind asks for (address, query, tags, board) and the profiles it is matched with, as JSON: read whole, never searched.
  settings         TEXT    NOT NULL,
  profile_ids      TEXT    NOT NULL,
  interval_seconds INTEGER NOT NULL,
  status           TEXT    NOT NULL,
  next_poll_at     INTEGER NOT NULL,
  -- The source asked not to be read before then: no wish of a caller goes below it.
  not_before       INTEGER NOT NULL DEFAULT 0,
  last_run_at      INTEGER,
  last_success_at  INTEGER,
  last_error       TEXT,
  failures         INTEGER NOT NULL DEFAULT 0,
  items_seen       INTEGER NOT NULL DEFAULT 0,
  signals_made     INTEGER NOT NULL DEFAULT 0,
  -- How far it was read, as JSON; written together with the signals that were read on the way there.
  position         TEXT    NOT NULL,
  -- Whose run it is, until when: a run is stored only by the token it was claimed with.
  lease_token      TEXT,
  lease_until      INTEGER NOT NULL DEFAULT 0,
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL,
  -- Grows with each change that a caller makes: a change applies only to the version it was decided on.
  version          INTEGER NOT NULL,
  due_at           INTEGER GENERATED ALWAYS AS
                     (CASE status WHEN 'active' THEN max(next_poll_at, lease_until) END) VIRTUAL
) STRICT;
CREATE UNIQUE INDEX sources_by_name ON sources (tenant_id, name_key);
CREATE INDEX sources_by_time ON sources (tenant_id, created_at, id);
CREATE INDEX sources_due ON sources (due_at) WHERE due_at IS NOT NULL;
