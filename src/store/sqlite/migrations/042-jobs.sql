-- Work that is accepted at once and done after the response: batches of posts, part by part.
CREATE TABLE jobs (
  id          TEXT    NOT NULL PRIMARY KEY,
  tenant_id   TEXT    NOT NULL REFERENCES tenants (id),
  kind        TEXT    NOT NULL,
  status      TEXT    NOT NULL,
  total       INTEGER NOT NULL,
  processed   INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  finished_at INTEGER,
  -- JSON {code, detail}; null: no error.
  error       TEXT,
  -- JSON: an array of the results so far.
  results     TEXT    NOT NULL,
  -- JSON: the remaining input; null once it is done.
  items       TEXT
) STRICT;
CREATE INDEX jobs_open ON jobs (created_at, id) WHERE finished_at IS NULL;
CREATE INDEX jobs_open_of_tenant ON jobs (tenant_id) WHERE finished_at IS NULL;
CREATE INDEX jobs_finished ON jobs (created_at) WHERE finished_at IS NOT NULL;
