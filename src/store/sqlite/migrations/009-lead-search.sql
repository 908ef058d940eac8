-- The words by which a lead is found; a range contains every word with the same prefix, which a full-text index would not
-- return in the order of a page. Existing leads are found again after their next change.
CREATE TABLE lead_words (
  tenant_id TEXT NOT NULL REFERENCES tenants (id),
  word      TEXT NOT NULL,
  lead_id   TEXT NOT NULL REFERENCES leads (id),
  PRIMARY KEY (tenant_id, word, lead_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX lead_words_by_lead ON lead_words (lead_id);
