-- An erasure that was begun: the lead is gone, and what else is to be erased is done piece by piece, also after a crash.
CREATE TABLE erasures (
  lead_id   TEXT NOT NULL PRIMARY KEY,
  tenant_id TEXT NOT NULL REFERENCES tenants (id),
  -- JSON: what no kept answer may hold, and what is blacked out where others mention it.
  texts     TEXT NOT NULL,
  mentions  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
-- What is left of it, in the order of its pieces; each goes with the commit that has done it.
CREATE TABLE erasure_steps (
  position  INTEGER NOT NULL PRIMARY KEY,
  lead_id   TEXT    NOT NULL REFERENCES erasures (lead_id),
  kind      TEXT    NOT NULL,
  subject   TEXT    NOT NULL
) STRICT;
CREATE INDEX erasure_steps_of_lead ON erasure_steps (lead_id, position);
