-- With what the score of a lead is derived from, so that a change of one signal does not read all of them: with 400,000 signals, deleting
-- the best one took 0.5 s. In the order of time, whose last one is the newest. Without a reference to the lead, which is erased in one
-- commit, and its signals detached in several.
CREATE TABLE scored_lead_signals (
  lead_id        TEXT    NOT NULL,
  signal_id      TEXT    NOT NULL UNIQUE REFERENCES signals (id),
  timestamp      INTEGER NOT NULL,
  score          INTEGER NOT NULL,
  classification TEXT    NOT NULL,
  PRIMARY KEY (lead_id, timestamp, signal_id)
) STRICT, WITHOUT ROWID;
INSERT INTO scored_lead_signals (lead_id, signal_id, timestamp, score, classification)
  SELECT l.lead_id, l.signal_id, s.timestamp, s.score, s.classification
  FROM lead_signals l CROSS JOIN signals s ON s.id = l.signal_id;
DROP TABLE lead_signals;
ALTER TABLE scored_lead_signals RENAME TO lead_signals;
CREATE INDEX lead_signals_by_score ON lead_signals (lead_id, classification, score, timestamp);

CREATE TRIGGER signals_given_to_lead AFTER INSERT ON lead_signals BEGIN
  INSERT INTO signal_triage (seq, tenant_id, is_lead)
    SELECT seq, tenant_id, 1 FROM signals WHERE id = NEW.signal_id
    ON CONFLICT (seq) DO UPDATE SET is_lead = 1;
END;
CREATE TRIGGER signals_taken_from_lead AFTER DELETE ON lead_signals BEGIN
  UPDATE signal_triage SET is_lead = 0 WHERE seq = (SELECT seq FROM signals WHERE id = OLD.signal_id);
END;

-- With a rowid: to check that a step refers to a row of the other kind, SQLite reads all of it, and the texts of an erasure may have 3 MB.
CREATE TABLE erasures_by_row (
  lead_id   TEXT NOT NULL PRIMARY KEY,
  tenant_id TEXT NOT NULL REFERENCES tenants (id),
  -- JSON: texts that no stored response may contain, and texts that are redacted where others mention them.
  texts     TEXT NOT NULL,
  mentions  TEXT NOT NULL
) STRICT;
INSERT INTO erasures_by_row (lead_id, tenant_id, texts, mentions) SELECT lead_id, tenant_id, texts, mentions FROM erasures;
DROP TABLE erasures;
ALTER TABLE erasures_by_row RENAME TO erasures;

-- The value of open deals is read from leads_by_worth, without the leads that have no deal.
DROP INDEX leads_with_deals;

-- The results of a job's steps, in order: JSON arrays. Those of all steps may have 16 MB, which each step would write again. Earlier
-- releases stored them in `jobs`.
CREATE TABLE job_results (
  job_id    TEXT    NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
  -- The number of items processed before.
  processed INTEGER NOT NULL,
  results   TEXT    NOT NULL,
  PRIMARY KEY (job_id, processed)
) STRICT;
