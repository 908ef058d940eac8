-- Signals get the number that orders every list: (timestamp << 21) + (place within that millisecond << 7) + score.
-- Times, the order by time and score, and the cursor of a page are all derived from it, in the full-text index as in any other.
-- As the rowid, it needs no extra column anywhere. A millisecond has room for 16,384 signals, far more than a disk can store.
CREATE TABLE signals_in_order (
  seq            INTEGER NOT NULL PRIMARY KEY CHECK (seq >> 21 = timestamp AND seq & 127 = score),
  id             TEXT    NOT NULL UNIQUE,
  tenant_id      TEXT    NOT NULL REFERENCES tenants (id),
  profile_id     TEXT    NOT NULL REFERENCES icp_profiles (id),
  platform       TEXT    NOT NULL,
  signal_type    TEXT    NOT NULL,
  classification TEXT    NOT NULL,
  score          INTEGER NOT NULL,
  timestamp      INTEGER NOT NULL,
  company_domain TEXT    NOT NULL,
  external_id    TEXT,
  canonical_url  TEXT,
  -- The long columns come last: a list never reads past `explanation`.
  wire           TEXT    NOT NULL,
  explanation    TEXT    NOT NULL,
  text           TEXT    NOT NULL
) STRICT;
INSERT INTO signals_in_order
SELECT
  (timestamp << 21) + ((row_number() OVER (PARTITION BY timestamp ORDER BY id) - 1) << 7) + score,
  id, tenant_id, profile_id, platform, signal_type, classification, score, timestamp, company_domain, external_id,
  canonical_url, wire, explanation, text
FROM signals
ORDER BY 1;
DROP TABLE signals;
ALTER TABLE signals_in_order RENAME TO signals;

-- Either of these identifies a post that is received again.
CREATE UNIQUE INDEX signals_known_by_external_id ON signals (tenant_id, profile_id, platform, external_id)
  WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX signals_known_by_url ON signals (tenant_id, profile_id, platform, canonical_url)
  WHERE canonical_url IS NOT NULL;
-- Every index ends in the rowid, which is `seq`. Filters need no index of their own: they are terms of `signal_search`.
CREATE INDEX signals_by_time ON signals (tenant_id);
CREATE INDEX signals_by_score ON signals (tenant_id, score);
-- A company's counts and best signals are read from this index. Most posts name no company: leaving them out keeps it small.
CREATE INDEX signals_by_domain ON signals (tenant_id, company_domain, timestamp, id, score) WHERE company_domain <> '';

-- An inverted index of terms that the program extracts (signal-index.ts), so that the tokenizer splits only at spaces.
-- It stores no text, and deleted entries are overwritten at once.
CREATE VIRTUAL TABLE signal_search USING fts5(
  terms,
  content = '',
  columnsize = 0,
  tokenize = "ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
INSERT INTO signal_search (signal_search, rank) VALUES ('secure-delete', 1);
-- The terms of existing signals are inserted after the last migration (migrate.ts).
