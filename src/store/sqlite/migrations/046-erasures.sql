-- An erasure in progress: the lead is deleted, and the other data is erased step by step, also after a crash.
CREATE TABLE erasures (
  lead_id   TEXT NOT NULL PRIMARY KEY,
  tenant_id TEXT NOT NULL REFERENCES tenants (id),
  -- JSON: texts that no stored response may contain, and texts that are redacted where others mention them.
  texts     TEXT NOT NULL,
  mentions  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
-- Its remaining steps, in order; each is deleted in the commit that completes it.
CREATE TABLE erasure_steps (
  position  INTEGER NOT NULL PRIMARY KEY,
  lead_id   TEXT    NOT NULL REFERENCES erasures (lead_id),
  kind      TEXT    NOT NULL,
  subject   TEXT    NOT NULL
) STRICT;
CREATE INDEX erasure_steps_of_lead ON erasure_steps (lead_id, position);
