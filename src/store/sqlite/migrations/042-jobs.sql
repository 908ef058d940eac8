-- Work that was taken on and is done after the answer: batches of posts, a piece at a time.
CREATE TABLE jobs (
  id          TEXT    NOT NULL PRIMARY KEY,
  tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
  kind        TEXT    NOT NULL,
  status      TEXT    NOT NULL,
  total       INTEGER NOT NULL,
  processed   INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  finished_at INTEGER,
  -- JSON {code, detail}; null: nothing went wrong.
  error       TEXT,
  -- JSON: an array of results, as far as it is.
  results     TEXT    NOT NULL,
  -- JSON: what is to be done; null once it is done.
  items       TEXT
) STRICT;
CREATE INDEX jobs_open ON jobs (created_at, id) WHERE finished_at IS NULL;
CREATE INDEX jobs_open_of_tenant ON jobs (tenant_id) WHERE finished_at IS NULL;
CREATE INDEX jobs_finished ON jobs (created_at) WHERE finished_at IS NOT NULL;
