-- Older items are not new; days.
ALTER TABLE sources ADD COLUMN max_age_days INTEGER NOT NULL DEFAULT 7;
-- Keys of services, as JSON: name to what the secret box made of it, in base64.
ALTER TABLE sources ADD COLUMN secrets TEXT NOT NULL DEFAULT '{}';
-- When the first of the runs was that failed since the last that did not.
ALTER TABLE sources ADD COLUMN failing_since INTEGER;
ALTER TABLE sources ADD COLUMN items_matched INTEGER NOT NULL DEFAULT 0;
-- Signals of it that somebody found relevant.
ALTER TABLE sources ADD COLUMN items_relevant INTEGER NOT NULL DEFAULT 0;
-- What the service said is left, as JSON.
ALTER TABLE sources ADD COLUMN quota TEXT;

-- What came of the last runs of each source.
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

-- Which source a signal came from.
CREATE TABLE source_signals (
  signal_id TEXT NOT NULL PRIMARY KEY REFERENCES signals (id) ON DELETE CASCADE,
  source_id TEXT NOT NULL REFERENCES sources (id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX source_signals_by_source ON source_signals (source_id);

-- Hosts that asked to be left alone, for all that asks them; `scope` is a method or a key of theirs, empty is everything.
CREATE TABLE host_holds (
  host  TEXT    NOT NULL,
  scope TEXT    NOT NULL,
  until INTEGER NOT NULL,
  PRIMARY KEY (host, scope)
) STRICT, WITHOUT ROWID;
