-- Items older than this many days are not new.
ALTER TABLE sources ADD COLUMN max_age_days INTEGER NOT NULL DEFAULT 7;
-- Credentials of services as JSON: name to encrypted value, in base64.
ALTER TABLE sources ADD COLUMN secrets TEXT NOT NULL DEFAULT '{}';
-- The time of the first failed run since the last successful one.
ALTER TABLE sources ADD COLUMN failing_since INTEGER;
ALTER TABLE sources ADD COLUMN items_matched INTEGER NOT NULL DEFAULT 0;
-- The number of its signals that were rated relevant.
ALTER TABLE sources ADD COLUMN items_relevant INTEGER NOT NULL DEFAULT 0;
-- The remaining quota as reported by the service, as JSON.
ALTER TABLE sources ADD COLUMN quota TEXT;

-- The results of the last runs of each source.
CREATE TABLE source_runs (
  seq           INTEGER NOT NULL PRIMARY KEY,
  id            TEXT    NOT NULL,
  source_id     TEXT    NOT NULL REFERENCES sources (id) ON DELETE CASCADE,
  started_at    INTEGER NOT NULL,
  ended_at      INTEGER NOT NULL,
  error         TEXT,
  items_seen    INTEGER NOT NULL,
  items_matched INTEGER NOT NULL,
  signals_made  INTEGER NOT NULL
) STRICT;
CREATE INDEX source_runs_by_source ON source_runs (source_id, seq);

-- The source of a signal.
CREATE TABLE source_signals (
  signal_id TEXT NOT NULL PRIMARY KEY REFERENCES signals (id) ON DELETE CASCADE,
  source_id TEXT NOT NULL REFERENCES sources (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX source_signals_by_source ON source_signals (source_id);

-- Hosts that asked for a pause, for all requests to them; `scope` is a method or a key of theirs; empty: everything.
CREATE TABLE host_holds (
  host  TEXT    NOT NULL,
  scope TEXT    NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (host, scope)
) STRICT, WITHOUT ROWID;
