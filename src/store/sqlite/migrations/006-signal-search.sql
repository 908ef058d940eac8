-- Signals get the number that every list is in the order of: (timestamp << 21) + (place in that millisecond << 7) + score.
-- Times, order by time and score, and the key of a page are all read from it, in an index of words as in any other, and
-- as it is the rowid it costs no column anywhere. 16,384 signals fit into a millisecond, far more than a disk takes.
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
  -- The long columns stand last: a list never reads past `explanation`.
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

-- A post is known again by either of these.
CREATE UNIQUE INDEX signals_known_by_external_id ON signals (tenant_id, profile_id, platform, external_id)
  WHERE external_id IS NOT NULL;
CREATE UNIQUE INDEX signals_known_by_url ON signals (tenant_id, profile_id, platform, canonical_url)
  WHERE canonical_url IS NOT NULL;
-- Every index ends in the rowid, which is `seq`. Filters need none of their own: they are terms of `signal_search`.
CREATE INDEX signals_by_time ON signals (tenant_id);
CREATE INDEX signals_by_score ON signals (tenant_id, score);
-- What a company's counts and best signals are read from. Most posts name no company: without them it stays small.
CREATE INDEX signals_by_domain ON signals (tenant_id, company_domain, timestamp, id, score) WHERE company_domain <> '';

-- An inverted index of terms that we cut ourselves (search-terms.ts), so that the tokenizer splits at spaces alone.
-- It keeps no text, and what is deleted leaves its pages at once.
CREATE VIRTUAL TABLE signal_search USING fts5(
  terms,
  content = '',
  columnsize = 0,
  tokenize = "ascii tokenchars '!""#$%&''()*+,-./:;<=>?@[\]^_`{|}~'"
);
INSERT INTO signal_search (signal_search, rank) VALUES ('secure-delete', 1);
-- The terms of the signals that are there are put in after the last migration (migrate.ts).
